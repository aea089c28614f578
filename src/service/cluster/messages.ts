import type { Configuration, Credentials } from '../config/configuration.js'
import type { MetricsData } from '../metrics/process-metrics.js'

/** The file descriptor of a worker's `RemotePlantStore`. */
export const STORE_CHANNEL = 4

/** The messages from the primary process to a worker. */
export type ToWorker =
  | { kind: 'start', configuration: Configuration }
  | { kind: 'reload', credentials: Credentials }
  /** A heartbeat, or with `requestId` a request for all metrics. A worker that does not respond is killed. */
  | { kind: 'poll', requestId?: number }
  /** `isLast`: the worker keeps listening until no other process does. */
  | { kind: 'shutdown', isLast: boolean }

/** The messages from a worker to the primary process. */
export type FromWorker =
  /** The worker receives messages from now on. */
  | { kind: 'online' }
  | { kind: 'ready', address: string }
  | { kind: 'unusable', message: string }
  /** The worker is shutting down: it no longer listens, or it is the last to listen and waits to be disconnected. */
  | { kind: 'portClosed' | 'disconnectable' }
  /** The response to `poll`: all metrics, or without `requestId` those that outlive the worker. */
  | { kind: 'report', requestId?: number | undefined, metrics: MetricsData }
