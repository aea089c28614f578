import type { Configuration, Credentials } from './configuration.js'
import type { MetricsData } from './metrics.js'

/** A point at which the processes that share a port wait for each other. */
export type Point = 'quiet' | 'closed'

/** What the first process tells a worker. */
export type ToWorker =
  | { kind: 'start', configuration: Configuration }
  | { kind: 'reload', credentials: Credentials }
  | { kind: 'metrics', question: number }
  /** All workers have come to the point. */
  | { kind: 'go', point: Point }
  | { kind: 'end' }

/** What a worker tells the first process. */
export type FromWorker =
  /** It listens to messages from now on. */
  | { kind: 'here' }
  | { kind: 'ready', address: string }
  | { kind: 'unusable', message: string }
  | { kind: 'metrics', question: number, data: MetricsData }
  | { kind: 'reached', point: Point }
