import { BearerTokens } from './bearer-tokens.js'
import type { Tokens } from './authenticate.js'
import type { PlantStore } from './stores/plant-store.js'

/** Options of the plugin, beside Fastify's own `prefix` and `logLevel`. */
export interface PlantStoreOptions {
  /**
   * Where plants go: `sqlitePlantStore(…)`, `mongoPlantStore(…)` or a store of your own. One that is not open is opened by
   * the plugin, and closed with the host.
   */
  store: PlantStore
  /** Accepted bearer tokens, or a function that decides on each. */
  tokens: Tokens
  /** Bytes of a request body; 1,048,576 by default, 16,000,000 at most. */
  bodyLimit?: number | undefined
  /** Milliseconds in which a create gets its answer, whatever the store does; 10,000 by default. */
  storeTimeout?: number | undefined
  /** Creates that wait for the store at once; 10,000 by default. One more is answered 503. */
  queueLimit?: number | undefined
}

/** The same, with nothing left out. */
export type CheckedOptions = { [Name in keyof PlantStoreOptions]-?: Exclude<PlantStoreOptions[Name], undefined> }

/** Defaults and bounds of the limits. A MongoDB document holds 16 MiB, of which a body's plant may need all but a few bytes. */
export const limits = {
  bodyLimit: { default: 1_048_576, minimum: 1, maximum: 16_000_000 },
  storeTimeout: { default: 10_000, minimum: 1, maximum: 3_600_000 },
  queueLimit: { default: 10_000, minimum: 1, maximum: 1_000_000 }
} as const

/**
 * The options with their defaults.
 * @throws {TypeError} that names the option, what is wrong with it and what is allowed; never a token
 */
export function checkedOptions (options: PlantStoreOptions): CheckedOptions {
  const { store, tokens } = options
  if (typeof store?.create !== 'function') {
    throw new TypeError('plant-store: the option store must be a PlantStore, for example sqlitePlantStore({ path: \'plants.db\' })')
  }
  return {
    store,
    tokens: checkedTokens(tokens),
    bodyLimit: checkedLimit(options, 'bodyLimit'),
    storeTimeout: checkedLimit(options, 'storeTimeout'),
    queueLimit: checkedLimit(options, 'queueLimit')
  }
}

function checkedTokens (tokens: unknown): Tokens {
  if (typeof tokens === 'function') return tokens as Tokens
  try {
    if (typeof tokens === 'string') throw new TypeError('a string is not a list of tokens')
    const list = [...tokens as Iterable<string>]
    return new BearerTokens(list) && list
  } catch (error) {
    throw new TypeError(`plant-store: the option tokens must be a list of access tokens or a function (token, request) => boolean: ${(error as Error).message}`)
  }
}

function checkedLimit (options: PlantStoreOptions, name: keyof typeof limits): number {
  const { default: usual, minimum, maximum } = limits[name]
  const value = options[name] ?? usual
  if (!Number.isInteger(value) || value < minimum || value > maximum) {
    throw new TypeError(`plant-store: the option ${name} must be an integer from ${minimum} to ${maximum}`)
  }
  return value
}
