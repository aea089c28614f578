import { parentPort, workerData } from 'node:worker_threads'
import type { CreateOutcome } from '../../plant-store.js'
import { sqliteBinding } from './database.js'
import { IDLE, STOPPED, WORKING, type ThreadData } from './database-thread.js'
import { PlantsTable, type Row } from './plants-table.js'
import { transactionError, type Failure } from './sqlite-error.js'

/** A request to the database thread; all but `close` get one answer, in order. */
export type SqliteRequest =
  | { kind: 'write', rows: readonly Row[], lockWaitMs: number }
  | { kind: 'check', thoroughly: boolean }
  | { kind: 'close' }

/**
 * `outcomes` is null if all rows are `stored`. To `reopen` the file, the thread exits: only that closes all files,
 * since `@photostructure/sqlite` keeps statements, and with them the connection, until then.
 */
export type SqliteAnswer =
  | { kind: 'done', outcomes: readonly (CreateOutcome | Failure)[] | null }
  | { kind: 'failed' } & Failure

/** Milliseconds between two attempts to open a file that cannot be opened. */
const REOPEN_PAUSE_MS = 100

const { path, openedFile, state }: ThreadData = workerData
const { DatabaseSync } = await sqliteBinding()
const port = parentPort
let table: PlantsTable | undefined

/** @returns whether the thread ends */
function handle (request: SqliteRequest): boolean {
  if (request.kind === 'close') return true
  try {
    table ??= new PlantsTable(DatabaseSync, path, openedFile)
    if (request.kind === 'check') table.check(request.thoroughly)
    const results = request.kind === 'write' ? table.write(request.rows, request.lockWaitMs) : []
    const isStored = results.every(result => result === 'stored')
    const outcomes = isStored ? null : results.map(result => typeof result === 'string' ? result : result.failure)
    port?.postMessage({ kind: 'done', outcomes } satisfies SqliteAnswer)
    return false
  } catch (error) {
    const { failure } = transactionError(error)
    const reopen = failure.reopen === true || table === undefined
    // Keeps the thread until then.
    if (reopen) setTimeout(() => {}, REOPEN_PAUSE_MS)
    port?.postMessage({ kind: 'failed', ...failure, reopen } satisfies SqliteAnswer)
    return reopen
  }
}

port?.on('message', (request: SqliteRequest) => {
  // The process is exiting, or the thread has ended: closing a port does not drop the messages that it has received.
  if (Atomics.compareExchange(state, 0, IDLE, WORKING) !== IDLE) return
  const ends = handle(request)
  if (ends) {
    port.close()
    table?.close()
  }
  Atomics.store(state, 0, ends ? STOPPED : IDLE)
  Atomics.notify(state, 0)
})
