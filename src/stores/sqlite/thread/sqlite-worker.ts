import { parentPort, workerData } from 'node:worker_threads'
import { monotonicMs } from '../../../clock.js'
import { messageOf } from '../../../error-message.js'
import { StoreUnusable } from '../../plant-store.js'
import { sqliteBinding } from '../database.js'
import { LOCK_WAIT_MS, SqlitePlantsTable } from '../plants-table.js'
import { failureOf, SqliteFailure } from '../sqlite-failure.js'
import type { ThreadData } from './guarded-worker.js'
import { TerminationGuard } from './termination-guard.js'
import { unpackPlants, type SqliteAnswer, type SqliteRequest } from './thread-messages.js'

const { path, wasOpen, guard: memory }: ThreadData = workerData
const guard = new TerminationGuard(memory)
const { DatabaseSync } = await sqliteBinding()
let table: SqlitePlantsTable | undefined
let growth: NodeJS.Timeout | undefined

function openTable (lockWaitMs: number): SqlitePlantsTable {
  const opened = SqlitePlantsTable.open(DatabaseSync, path, { wasOpen, lockWaitMs })
  // After this task's response, and before there is load: later it would delay many requests.
  growth = setTimeout(() => guard.work(() => { opened.growLog() }), 20)
  return opened
}

/** @returns whether the database is closed; false if its log is still in use by another program */
function closeTable (): boolean {
  try {
    table?.close()
    clearTimeout(growth)
    return true
  } catch {
    return false
  }
}

function answer (request: Exclude<SqliteRequest, { kind: 'close' }>): SqliteAnswer {
  const timeLeft = request.kind === 'write' ? Math.floor(request.until - monotonicMs()) : LOCK_WAIT_MS
  const lockWaitMs = Math.min(LOCK_WAIT_MS, timeLeft)
  try {
    table ??= openTable(lockWaitMs)
    if (request.kind === 'write') return { kind: 'done', outcomes: table.write(unpackPlants(request.plants), lockWaitMs) }
    table.check(request.thoroughly)
    return { kind: 'done', outcomes: null }
  } catch (error) {
    const message = messageOf(error)
    if (error instanceof StoreUnusable) return { kind: 'unusable', message, outcomeUnknown: false, permanent: true, ends: true }
    const { outcomeUnknown, permanent, reopen } = error instanceof SqliteFailure ? error : failureOf(error, false)
    return { kind: 'failed', message, outcomeUnknown, permanent, ends: (reopen || table === undefined) && closeTable() }
  }
}

const port = parentPort
port?.on('message', (request: SqliteRequest) => guard.work(() => {
  if (request.kind === 'close') {
    closeTable()
    port.close()
    return
  }
  const response = answer(request)
  port.postMessage(response)
  if (response.kind !== 'done' && response.ends) port.close()
}))
