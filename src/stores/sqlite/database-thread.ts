import type { EventEmitter } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { SqliteRequest, ThreadData } from './sqlite-worker.js'

/** How long an exiting process waits for its threads: longer than any lock and nearly all commits. */
const LONGEST_EXIT_MS = 2_000

/** Only while `ref` holds does it keep the process alive. */
export type DatabaseThread = EventEmitter &
  { postMessage: (request: SqliteRequest) => void, ref: () => void, unref: () => void }

/** The threads of every store, which share one listener on the process. */
const runningThreads = new Map<Worker, Int32Array>()

/** @param openedFile the identity of the file, if an earlier thread had it open */
export function startDatabaseThread (path: string, openedFile: string | undefined): DatabaseThread {
  const hasEnded = new Int32Array(new SharedArrayBuffer(4))
  const workerData: ThreadData = { path, openedFile, hasEnded }
  // Of the process's own arguments, `--input-type` (with `node -e`) would keep the thread from starting. Closing the
  // files that the thread leaves open would release the locks of other connections.
  const options = { workerData, execArgv: [], trackUnmanagedFds: false }
  const worker = new Worker(new URL('./sqlite-worker.js', import.meta.url), options)
  if (runningThreads.size === 0) process.on('exit', endThreads)
  runningThreads.set(worker, hasEnded)
  worker.on('exit', () => {
    runningThreads.delete(worker)
    if (runningThreads.size === 0) process.off('exit', endThreads)
  })
  return worker
}

/**
 * When the process exits, the threads first complete their tasks: `@photostructure/sqlite` aborts the whole process if
 * its thread is terminated during a call.
 */
function endThreads (): void {
  for (const worker of runningThreads.keys()) worker.postMessage('close')
  const end = performance.now() + LONGEST_EXIT_MS
  for (const hasEnded of runningThreads.values()) Atomics.wait(hasEnded, 0, 0, Math.max(end - performance.now(), 0))
}
