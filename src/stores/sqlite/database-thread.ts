import type { EventEmitter } from 'node:events'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { messageOf } from '../../error-message.js'
import { requireOwnLog } from './database-file.js'
import { deniedByNode, isDeniedByNode } from './database.js'
import { SqliteError, type Failure } from './sqlite-error.js'
import type { SqliteRequest } from './sqlite-worker.js'

/** Longer than any wait for a lock, and than nearly all commits. */
const LONGEST_EXIT_MS = 2_000

export type DatabaseThread = EventEmitter & { postMessage: (request: SqliteRequest) => void }

/** What a thread gets. `hasEnded`, which it shares with its store, is 1 once the database is closed. */
export interface ThreadData { path: string, openedFile: string | undefined, hasEnded: Int32Array }

interface RunningThread { worker: Worker, hasEnded: Int32Array }

/** Those of every store, which share one listener on the process. */
const runningThreads = new Set<RunningThread>()

/**
 * Starts the thread of a database.
 * @param openedFile the identity of the file, if an earlier thread had it open
 */
export function startDatabaseThread (path: string, openedFile: string | undefined): DatabaseThread {
  if (openedFile === undefined) requireOwnLog(path)
  const hasEnded = new Int32Array(new SharedArrayBuffer(4))
  const workerData: ThreadData = { path, openedFile, hasEnded }
  // Of the process's own arguments, `--input-type` (with `node -e`) would keep the thread from starting.
  const worker = new Worker(new URL('./sqlite-worker.js', import.meta.url), { workerData, execArgv: [] })
  const thread = { worker, hasEnded }
  if (runningThreads.size === 0) process.on('exit', endThreads)
  runningThreads.add(thread)
  worker.on('exit', () => {
    runningThreads.delete(thread)
    if (runningThreads.size === 0) process.off('exit', endThreads)
  })
  return worker
}

/**
 * When the process exits, the threads first complete their tasks: `@photostructure/sqlite` aborts the whole process if
 * its thread is terminated during a call.
 */
function endThreads (): void {
  for (const { worker } of runningThreads) worker.postMessage({ kind: 'close' })
  const end = performance.now() + LONGEST_EXIT_MS
  for (const { hasEnded } of runningThreads) Atomics.wait(hasEnded, 0, 0, Math.max(end - performance.now(), 0))
}

/** Why no thread was started. */
export function startingFailure (error: unknown, path: string): Failure {
  if (error instanceof SqliteError) return error.failure
  // In a bundle in CommonJS, the address of the thread's code is not valid.
  if (error instanceof TypeError || isDeniedByNode(error)) return loadingFailure(error, path)
  return { kind: 'busy', message: `no thread for the database could be started: ${messageOf(error)}` }
}

/** Why the code of a thread was not loaded. */
export function loadingFailure (error: unknown, path: string): Failure {
  if (isDeniedByNode(error)) return { kind: 'unusable', message: deniedByNode(error, dirname(path)) }
  const message = `the code of the database thread cannot be loaded (${messageOf(error)}): if the app is bundled, mark plant-store as external`
  return { kind: 'unusable', message }
}
