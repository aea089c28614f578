import { systemClock, type Clock } from '../../clock.js'
import { messageOf } from '../../error-message.js'
import type { CreateError, StoreWriter, WriteResult } from '../batching/store-writer.js'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable, type NewPlant } from '../../plant-store.js'
import { LOCK_WAIT_MS } from './database.js'
import { startDatabaseThread, type DatabaseThread } from './database-thread.js'
import type { Row } from './plants-table.js'
import type { SqliteAnswer, SqliteRequest } from './sqlite-worker.js'

type FailedAnswer = Extract<SqliteAnswer, { kind: 'failed' }>

/** Writes batches of plants through a thread that has the database open, and starts another thread if that one dies. */
export class SqliteClient implements StoreWriter {
  /** One connection writes at a time; the plants that arrive during a transaction go into the next one. */
  readonly maxInFlight = 1
  readonly #clock: Clock
  readonly #startThread: (wasOpen: boolean) => DatabaseThread
  #thread: DatabaseThread | undefined
  /** A resolver for each outstanding request: the thread answers in order. */
  readonly #pending: ((answer: SqliteAnswer) => void)[] = []
  #wasOpen = false
  /** The last answer of a thread that is about to exit. */
  #lastAnswer: FailedAnswer | undefined
  #exit: Promise<void> | undefined
  #closed = false

  /** @param startThread is told whether an earlier thread has had the file open */
  constructor (
    path: string, clock = systemClock, startThread = (wasOpen: boolean) => startDatabaseThread(path, wasOpen)
  ) {
    this.#clock = clock
    this.#startThread = startThread
  }

  async open (): Promise<void> {
    try {
      await this.check(false)
    } catch (error) {
      if (error instanceof StoreUnusable) throw error
    }
  }

  async write (
    plants: readonly NewPlant[], _deadline: number, earliestDeadline: number
  ): Promise<readonly WriteResult[] | CreateError> {
    const rows = plants.map(({ id, name, tag = null }): Row => [id, name, tag])
    // It ends early enough for the outcome to be reported, even after a check that waits too.
    const lockWaitMs = Math.min(earliestDeadline - this.#clock.now() - 2 * LOCK_WAIT_MS, LOCK_WAIT_MS)
    const answer = await this.#ask({ kind: 'write', rows, lockWaitMs })
    if (answer.kind === 'done') return answer.outcomes ?? plants.map(() => 'stored')
    const reason = `SQLite: ${answer.message}`
    return answer.outcomeUnknown ? new PlantOutcomeUnknown(reason) : new PlantNotStored(reason, answer)
  }

  /** @throws {StoreUnusable} if the file must not be written */
  async check (thoroughly: boolean): Promise<void> {
    const answer = await this.#ask({ kind: 'check', thoroughly })
    if (answer.kind === 'failed') throw new (answer.unusable ? StoreUnusable : Error)(`SQLite: ${answer.message}`)
  }

  async close (): Promise<void> {
    this.#closed = true
    this.#thread?.postMessage({ kind: 'close' })
    await this.#exit
  }

  /** Sends a request after those sent before; resolves with its answer, even if the thread dies. */
  async #ask (request: SqliteRequest): Promise<SqliteAnswer> {
    while (this.#lastAnswer !== undefined) await this.#exit
    if (this.#closed) return failed('the store is closed')
    try {
      this.#thread ??= this.#start()
    } catch (error) {
      return failed(`no thread for the database could be started: ${messageOf(error)}`)
    }
    this.#thread.postMessage(request)
    return await new Promise(resolve => { this.#pending.push(resolve) })
  }

  #start (): DatabaseThread {
    const thread = this.#startThread(this.#wasOpen)
    let message = 'the database thread exited'
    thread.on('message', (answer: SqliteAnswer) => {
      if (answer.kind === 'done') this.#wasOpen = true
      else if (answer.ends) this.#lastAnswer = answer
      this.#pending.shift()?.(answer)
    })
    thread.on('error', (error: Error) => { message += `: ${error.message}` })
    this.#exit = new Promise(resolve => {
      thread.on('exit', () => {
        // It is unknown what a thread was doing when it died. One that announced its exit did nothing more.
        const answer = { ...this.#lastAnswer ?? failed(message), outcomeUnknown: this.#lastAnswer === undefined }
        this.#thread = undefined
        this.#lastAnswer = undefined
        for (const resolveRequest of this.#pending.splice(0)) resolveRequest(answer)
        resolve()
      })
    })
    return thread
  }
}

function failed (message: string): FailedAnswer {
  return { kind: 'failed', message, outcomeUnknown: false, permanent: false, unusable: false, ends: true }
}
