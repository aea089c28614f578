import type { EventEmitter } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { SqliteRequest } from './sqlite-worker.js'

/** The part of a worker thread that its client uses; it emits `message`, `error` and `exit`. */
export interface DatabaseThread extends EventEmitter {
  postMessage (request: SqliteRequest): void
}

/** The arguments of a thread. */
export interface ThreadData {
  /** The database file. */
  path: string
  /** Whether an earlier thread had it open. */
  wasOpen: boolean
  /** Memory shared with the thread that started it. */
  guard: Int32Array
}

// Indexes of the guard.
const STOP = 0
const WORKING = 1

/** Milliseconds: longer than any wait for a lock, and than nearly all commits. */
const STOP_TIMEOUT_MS = 2_000

/**
 * Starts the thread of a database. When the process exits, the thread first completes its task:
 * `@photostructure/sqlite` aborts the whole process if its thread is terminated during a call.
 */
export function startDatabaseThread (path: string, wasOpen: boolean): DatabaseThread {
  const guard = new Int32Array(new SharedArrayBuffer(8))
  const workerData: ThreadData = { path, wasOpen, guard }
  // Of the process's own arguments, `--input-type` (with `node -e`) would keep the thread from starting.
  const worker = new Worker(new URL('./sqlite-worker.js', import.meta.url), { workerData, execArgv: [] })
  const stop = (): void => {
    Atomics.store(guard, STOP, 1)
    Atomics.wait(guard, WORKING, 1, STOP_TIMEOUT_MS)
  }
  process.on('exit', stop)
  worker.on('exit', () => process.off('exit', stop))
  return worker
}

/** In the thread: runs a task, unless the process is exiting. */
export function runTask (guard: Int32Array, task: () => void): void {
  Atomics.store(guard, WORKING, 1)
  try {
    if (Atomics.load(guard, STOP) === 0) task()
  } finally {
    Atomics.store(guard, WORKING, 0)
    Atomics.notify(guard, WORKING)
  }
}
