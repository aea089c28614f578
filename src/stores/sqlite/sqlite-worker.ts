import { parentPort, workerData } from 'node:worker_threads'
import { sqliteBinding } from './database.js'
import { PlantsTable, type Row, type RowResult } from './plants-table.js'
import { transactionError, type Failure } from './sqlite-error.js'

/** `openedFile` is the identity of the file, if an earlier thread had it open; `hasEnded`, which is shared, turns 1. */
export interface ThreadData { path: string, openedFile: string | undefined, hasEnded: Int32Array }

/** A request to the database thread; all but `close` get one answer, in order. */
export type SqliteRequest =
  | { kind: 'write', rows: readonly Row[], lockWaitMs: number }
  | { kind: 'check', thoroughly: boolean }
  | { kind: 'close' }

/** To a write, `all stored`, as an array of strings takes much longer between threads, or the result of each row. */
export type SqliteAnswer = 'all stored' | readonly RowResult[] | 'writable' | Failure

const { path, openedFile, hasEnded }: ThreadData = workerData
const { DatabaseSync } = await sqliteBinding()
let table: PlantsTable | undefined

function answer (request: Exclude<SqliteRequest, { kind: 'close' }>): SqliteAnswer {
  try {
    table ??= new PlantsTable(DatabaseSync, path, openedFile)
  } catch (error) {
    return { ...transactionError(error).failure, reach: 'connection' }
  }
  if (request.kind === 'check') return table.check(request.thoroughly)
  const result = table.write(request.rows, request.lockWaitMs)
  const areAllStored = Array.isArray(result) && result.every(rowResult => rowResult === 'stored')
  return areAllStored ? 'all stored' : result
}

function close (): void {
  parentPort?.close()
  table?.close()
  Atomics.store(hasEnded, 0, 1)
  Atomics.notify(hasEnded, 0)
}

parentPort?.on('message', (request: SqliteRequest) => {
  // A port that is closed still delivers the messages that it has received.
  if (hasEnded[0] === 1) return
  if (request.kind === 'close') return close()
  const result = answer(request)
  parentPort?.postMessage(result)
  // To open the file again, the thread exits: only that closes all of its files, since `@photostructure/sqlite` keeps
  // statements, and with them the connection.
  if (typeof result === 'object' && 'reach' in result && result.reach === 'connection') close()
})
