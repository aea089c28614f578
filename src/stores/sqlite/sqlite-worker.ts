import { parentPort, workerData } from 'node:worker_threads'
import type { CreateOutcome } from '../../plant-store.js'
import { sqliteBinding } from './database.js'
import { runTask, type ThreadData } from './database-thread.js'
import { PlantsTable, type Row } from './plants-table.js'
import { transactionError, type Failure } from './sqlite-error.js'

/** A request to the database thread; all but `close` get one answer, in order. */
export type SqliteRequest =
  | { kind: 'write', rows: readonly Row[], lockWaitMs: number }
  | { kind: 'check', thoroughly: boolean }
  | { kind: 'close' }

/**
 * `outcomes` is null if all rows are `stored`. A thread that `ends` reads no more requests and exits: only its exit
 * closes all files, since `@photostructure/sqlite` keeps statements, and with them the connection, until then.
 */
export type SqliteAnswer =
  | { kind: 'done', outcomes: readonly (CreateOutcome | Failure)[] | null }
  | { kind: 'failed', ends: boolean } & Failure

/** Milliseconds between two attempts to open a file that cannot be opened. */
const REOPEN_PAUSE_MS = 100

const { path, openedFile, guard }: ThreadData = workerData
const { DatabaseSync } = await sqliteBinding()
const port = parentPort
let table: PlantsTable | undefined
let hasEnded = false

function answer (request: Exclude<SqliteRequest, { kind: 'close' }>): SqliteAnswer {
  try {
    table ??= new PlantsTable(DatabaseSync, path, openedFile)
    if (request.kind === 'write') {
      const results = table.write(request.rows, request.lockWaitMs)
      if (results.every(result => result === 'stored')) return { kind: 'done', outcomes: null }
      return { kind: 'done', outcomes: results.map(result => typeof result === 'string' ? result : result.toFailure()) }
    }
    table.check(request.thoroughly)
    return { kind: 'done', outcomes: null }
  } catch (error) {
    const failure = transactionError(error)
    const ends = failure.reopen || table === undefined
    if (ends) table?.close()
    return { kind: 'failed', ends, ...failure.toFailure() }
  }
}

port?.on('message', (request: SqliteRequest) => runTask(guard, () => {
  // Closing a port does not drop the messages that it has received.
  if (hasEnded) return
  if (request.kind === 'close') {
    port.close()
    table?.close()
    return
  }
  const response = answer(request)
  port.postMessage(response)
  if (response.kind === 'done' || !response.ends) return
  hasEnded = true
  port.close()
  // Keeps the thread until then.
  setTimeout(() => {}, REOPEN_PAUSE_MS)
}))
