import type { EventEmitter } from 'node:events'
import { Worker } from 'node:worker_threads'
import { requireOwnLog } from './database.js'
import type { SqliteRequest } from './sqlite-worker.js'

export type DatabaseThread = EventEmitter & { postMessage: (request: SqliteRequest) => void }

/** What a thread gets; `state`, one of the values below, is shared with the thread that started it. */
export interface ThreadData { path: string, openedFile: string | undefined, state: Int32Array }

export const IDLE = 0
export const WORKING = 1
export const STOPPED = 2

/** Milliseconds: longer than any wait for a lock, and than nearly all commits. */
const STOP_TIMEOUT_MS = 2_000

/**
 * Starts the thread of a database. When the process exits, the thread first completes its task:
 * `@photostructure/sqlite` aborts the whole process if its thread is terminated during a call.
 * @param openedFile the identity of the file, if an earlier thread had it open
 */
export function startDatabaseThread (path: string, openedFile: string | undefined): DatabaseThread {
  if (openedFile === undefined) requireOwnLog(path)
  const state = new Int32Array(new SharedArrayBuffer(4))
  const workerData: ThreadData = { path, openedFile, state }
  // Of the process's own arguments, `--input-type` (with `node -e`) would keep the thread from starting.
  const worker = new Worker(new URL('./sqlite-worker.js', import.meta.url), { workerData, execArgv: [] })
  const stop = (): void => {
    if (Atomics.compareExchange(state, 0, IDLE, STOPPED) === WORKING) Atomics.wait(state, 0, WORKING, STOP_TIMEOUT_MS)
  }
  process.on('exit', stop)
  worker.on('exit', () => process.off('exit', stop))
  return worker
}
