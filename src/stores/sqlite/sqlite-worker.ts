import { parentPort, workerData } from 'node:worker_threads'
import { sqliteBinding } from './database.js'
import { PlantsTable, type Row, type RowResult } from './plants-table.js'
import { failureOf, type Failure } from './sqlite-error.js'

/** `openedFile` is the identity of the file, if an earlier thread had it open; `hasEnded`, which is shared, turns 1. */
export interface ThreadData { path: string, openedFile: string | undefined, hasEnded: Int32Array }

/** Rows to write, or something else to do. All but `close` get one answer, in order. */
export type SqliteRequest = readonly Row[] | { readonly check: 'quick' | 'thorough' } | 'close'

/** To a write, `all stored`, as an array of strings takes much longer between threads, or the result of each row. */
export type SqliteAnswer = 'all stored' | readonly RowResult[] | 'writable' | Failure

/** What a thread sends first: the identity of the file that it has opened, or why it has opened none. */
export type Opening = { readonly openedFile: string | undefined } | Failure

const { path, openedFile, hasEnded }: ThreadData = workerData
const { DatabaseSync } = await sqliteBinding()
const table = open()

function open (): PlantsTable {
  try {
    const table = new PlantsTable(DatabaseSync, path, openedFile)
    parentPort?.postMessage({ openedFile: table.file } satisfies Opening)
    return table
  } catch (error) {
    parentPort?.postMessage({ ...failureOf(error), closes: true } satisfies Opening)
    return end()
  }
}

parentPort?.on('message', (request: SqliteRequest) => {
  if (request === 'close') return end(table)
  const answer = answerTo(request)
  parentPort?.postMessage(answer)
  // To open the file again, the thread exits: only that closes all of its files, since `@photostructure/sqlite` keeps
  // statements, and with them the connection.
  if (typeof answer === 'object' && 'closes' in answer) end(table)
})

function answerTo (request: Exclude<SqliteRequest, 'close'>): SqliteAnswer {
  if ('check' in request) return table.check(request.check === 'thorough')
  const results = table.write(request)
  const areAllStored = Array.isArray(results) && results.every(result => result === 'stored')
  return areAllStored ? 'all stored' : results
}

/** Ends the thread, whatever else lives in it, such as a timer of a preloaded module. */
function end (table?: PlantsTable): never {
  try {
    table?.close()
  } finally {
    // Even if a broken file cannot be closed.
    Atomics.store(hasEnded, 0, 1)
    Atomics.notify(hasEnded, 0)
    process.exit()
  }
}
