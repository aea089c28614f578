import type { Configuration } from './configuration.js'

/**
 * Milliseconds after which an end is forced: a create that has just come still gets its answer, within the 30 seconds that
 * Kubernetes leaves.
 */
export function longestEnd ({ STORE_TIMEOUT }: Pick<Configuration, 'STORE_TIMEOUT'>): number {
  return Math.min(STORE_TIMEOUT + 5_000, 25_000)
}
