import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../../error-message.js'
import type { CreateOutcome } from '../../plant-store.js'
import { sqliteBinding } from './database.js'
import { runTask, type ThreadData } from './database-thread.js'
import { PlantsTable, type Row } from './plants-table.js'
import { failureOf } from './sqlite-failure.js'

/** A request to the database thread; all but `close` get one answer, in order. */
export type SqliteRequest =
  | { kind: 'write', rows: readonly Row[], lockWaitMs: number }
  | { kind: 'check', thoroughly: boolean }
  | { kind: 'close' }

/**
 * `outcomes` is null if all plants are `stored`. A thread that `ends` reads no more requests and exits: only its exit
 * closes all files, since `@photostructure/sqlite` keeps statements, and with them the connection, until then.
 */
export type SqliteAnswer =
  | { kind: 'done', outcomes: readonly CreateOutcome[] | null }
  | { kind: 'failed', message: string, outcomeUnknown: boolean, permanent: boolean, unusable: boolean, ends: boolean }

/** Milliseconds between two attempts to open a file that cannot be opened. */
const REOPEN_PAUSE_MS = 100

const { path, wasOpen, guard }: ThreadData = workerData
const { DatabaseSync } = await sqliteBinding()
let table: PlantsTable | undefined

function answer (request: Exclude<SqliteRequest, { kind: 'close' }>): SqliteAnswer {
  try {
    table ??= new PlantsTable(DatabaseSync, path, wasOpen)
    if (request.kind === 'check') {
      table.check(request.thoroughly)
      return { kind: 'done', outcomes: null }
    }
    const outcomes = table.write(request.rows, request.lockWaitMs)
    return { kind: 'done', outcomes: outcomes.every(outcome => outcome === 'stored') ? null : outcomes }
  } catch (error) {
    return answerTo(error)
  }
}

function answerTo (error: unknown): SqliteAnswer {
  const { message, outcomeUnknown, permanent, unusable, reopen } = failureOf(error)
  const failed = { kind: 'failed', message, outcomeUnknown, permanent, unusable } as const
  const ends = reopen || table === undefined
  try {
    if (ends) table?.close()
    return { ...failed, ends }
  } catch (error) {
    // The files stay open: another program is reading their log.
    return { ...failed, message: messageOf(error), ends: false }
  }
}

const port = parentPort
let hasEnded = false
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
