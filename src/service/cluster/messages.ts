import type { Configuration, Credentials } from '../config/configuration.js'
import type { MetricsData } from '../metrics/process-metrics.js'

/** Milliseconds between two heartbeats of a worker. */
export const HEARTBEAT_INTERVAL_MS = 1_000

/** The file descriptor of a worker's `RemotePlantStore`. */
export const STORE_CHANNEL = 4

/** The messages from the primary process to a worker. */
export type ToWorker =
  | { kind: 'start', configuration: Configuration }
  | { kind: 'reload', credentials: Credentials }
  | { kind: 'metrics', requestId: number }
  /** `isLast`: the worker keeps listening until no other process does. */
  | { kind: 'shutdown', isLast: boolean }

/** The messages from a worker to the primary process. */
export type FromWorker =
  /** The worker receives messages from now on. */
  | { kind: 'online' }
  /** `counters`: empty without METRICS_PORT. */
  | { kind: 'heartbeat', counters: MetricsData }
  | { kind: 'ready', address: string }
  | { kind: 'unusable', message: string }
  | { kind: 'metrics', requestId: number, data: MetricsData }
  /** The worker is shutting down: it no longer listens, or it is the last to listen and waits to be disconnected. */
  | { kind: 'portClosed' | 'disconnectable' }
