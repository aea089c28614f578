import type { EventEmitter } from 'node:events'
import { Worker } from 'node:worker_threads'
import { requireOwnLog } from './database.js'
import type { SqliteRequest } from './sqlite-worker.js'

/** The part of a worker thread that its client uses. */
export type DatabaseThread = EventEmitter & { postMessage: (request: SqliteRequest) => void }

/** The arguments of a thread; `guard` is memory that it shares with the thread that started it. */
export interface ThreadData { path: string, openedFile: string | undefined, guard: Int32Array }

// Values of the guard.
const IDLE = 0
const WORKING = 1
const STOPPED = 2

/** Milliseconds: longer than any wait for a lock, and than nearly all commits. */
const STOP_TIMEOUT_MS = 2_000

/**
 * Starts the thread of a database. When the process exits, the thread first completes its task:
 * `@photostructure/sqlite` aborts the whole process if its thread is terminated during a call.
 * @param openedFile the identity of the file, if an earlier thread had it open
 * @throws {SqliteError} if the file must not be opened
 */
export function startDatabaseThread (path: string, openedFile: string | undefined): DatabaseThread {
  if (openedFile === undefined) requireOwnLog(path)
  const guard = new Int32Array(new SharedArrayBuffer(4))
  const workerData: ThreadData = { path, openedFile, guard }
  // Of the process's own arguments, `--input-type` (with `node -e`) would keep the thread from starting.
  const worker = new Worker(new URL('./sqlite-worker.js', import.meta.url), { workerData, execArgv: [] })
  const stop = (): void => {
    if (Atomics.compareExchange(guard, 0, IDLE, STOPPED) === WORKING) Atomics.wait(guard, 0, WORKING, STOP_TIMEOUT_MS)
  }
  process.on('exit', stop)
  worker.on('exit', () => process.off('exit', stop))
  return worker
}

/** In the thread: runs a task, unless the process is exiting. */
export function runTask (guard: Int32Array, task: () => void): void {
  if (Atomics.compareExchange(guard, 0, IDLE, WORKING) !== IDLE) return
  try {
    task()
  } finally {
    Atomics.store(guard, 0, IDLE)
    Atomics.notify(guard, 0)
  }
}
