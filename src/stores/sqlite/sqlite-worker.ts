import { parentPort, workerData } from 'node:worker_threads'
import { sqliteBinding } from './database.js'
import type { ThreadData } from './sqlite-client.js'
import { PlantsTable, type Row, type RowResult } from './plants-table.js'
import { transactionError, type Failure } from './sqlite-error.js'

/** A request to the database thread; all but `close` get one answer, in order. */
export type SqliteRequest =
  | { kind: 'write', rows: readonly Row[], lockWaitMs: number }
  | { kind: 'check', thoroughly: boolean }
  | { kind: 'close' }

/**
 * The result of each row, or none if all are `stored`; or why the request failed. To `reopen` the file, the thread
 * exits: only that closes all files, since `@photostructure/sqlite` keeps statements, and with them the connection.
 */
export type SqliteAnswer = readonly RowResult[] | Failure

const { path, openedFile, hasEnded }: ThreadData = workerData
const { DatabaseSync } = await sqliteBinding()
const port = parentPort
let table: PlantsTable | undefined

function answer (request: Exclude<SqliteRequest, { kind: 'close' }>): SqliteAnswer {
  try {
    table ??= new PlantsTable(DatabaseSync, path, openedFile)
  } catch (error) {
    return { ...transactionError(error).failure, reopen: true }
  }
  const results = request.kind === 'check' ? table.check(request.thoroughly) : table.write(request.rows, request.lockWaitMs)
  return Array.isArray(results) && results.every(result => result === 'stored') ? [] : results
}

port?.on('message', (request: SqliteRequest) => {
  // A port that is closed still delivers the messages that it has received.
  if (hasEnded[0] === 1) return
  if (request.kind !== 'close') {
    const result = answer(request)
    port.postMessage(result)
    if (!(result as Failure).reopen) return
  }
  port.close()
  table?.close()
  Atomics.store(hasEnded, 0, 1)
  Atomics.notify(hasEnded, 0)
})
