import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { FileUnusable } from './sqlite-database.js'
import { SqlitePlantsTable, WriteFailure, type PlantColumns } from './sqlite-plants-table.js'
import { ThreadPause } from './thread-pause.js'

/** What the store asks of its worker thread; each gets one answer, in order. */
export type SqliteRequest =
  | { kind: 'write', plants: PlantColumns }
  | { kind: 'check', thoroughly: boolean }
  | { kind: 'close' }

/** The first answer tells of the opening. `outcomes` is null where all plants are new; `ends` where the thread does. */
export type SqliteAnswer =
  | { kind: 'done', outcomes: Uint8Array | null }
  | { kind: 'failed', message: string, perhapsStored: boolean, ends: boolean }
  | { kind: 'unusable', message: string }

const port = parentPort as MessagePort
const answer = (message: SqliteAnswer): void => port.postMessage(message)
const { path, pause: memory } = workerData as { path: string, pause: SharedArrayBuffer }
const pause = new ThreadPause(memory)

function answerFailure (error: unknown): void {
  const { message } = error as Error
  const failure = error instanceof WriteFailure ? error : undefined
  if (error instanceof FileUnusable) return answer({ kind: 'unusable', message })
  answer({ kind: 'failed', message, perhapsStored: failure?.perhapsStored ?? false, ends: failure?.goOn !== true })
}

if (pause.begin()) {
  try {
    const table = await SqlitePlantsTable.open(path)
    // Once who waits for the opening has its answer, and before there is load: later it would hold up many.
    const growth = setTimeout(() => pause.work(() => { table.growLog() }), 20)
    const end = (): void => {
      clearTimeout(growth)
      table.close()
      port.close()
    }
    const serve = (request: SqliteRequest): void => {
      try {
        if (request.kind === 'close') return end()
        if (request.kind === 'write') return answer({ kind: 'done', outcomes: table.write(request.plants) })
        table.check(request.thoroughly)
        answer({ kind: 'done', outcomes: null })
      } catch (error) {
        answerFailure(error)
        if (!(error instanceof WriteFailure && error.goOn)) end()
      }
    }
    port.on('message', (request: SqliteRequest) => pause.work(() => serve(request)))
    answer({ kind: 'done', outcomes: null })
  } catch (error) {
    answerFailure(error)
  } finally {
    pause.end()
  }
}
