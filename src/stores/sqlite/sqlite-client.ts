import { monotonicMs, systemClock, type Clock } from '../../clock.js'
import { messageOf } from '../../error-message.js'
import type { CreateFailure, WriteResult } from '../batching/batch-writer.js'
import type { StoreWriter } from '../batching/batched-plant-store.js'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable, type NewPlant } from '../plant-store.js'
import { GuardedWorker } from './thread/guarded-worker.js'
import { OUTCOMES, packPlants, type SqliteAnswer, type SqliteRequest } from './thread/thread-messages.js'

/** Milliseconds before a deadline at which waiting for a lock stops, so that the outcome can still be reported. */
const LOCK_MARGIN_MS = 250

/** Milliseconds between attempts to open a file that cannot be written for a lasting reason. */
const REOPEN_INTERVAL_MS = 100

type FailedAnswer = Exclude<SqliteAnswer, { kind: 'done' }>

/** The part of a worker thread that the client uses. */
export interface DatabaseThread {
  postMessage (request: SqliteRequest): void
  on (event: 'message', listener: (answer: SqliteAnswer) => void): unknown
  on (event: 'error', listener: (error: Error) => void): unknown
  on (event: 'exit', listener: (code: number) => void): unknown
}

/** @param wasOpen whether an earlier thread has had the file open */
type StartThread = (wasOpen: boolean) => DatabaseThread

/** Writes batches of plants through a thread that has the database open, and starts another thread if that one dies. */
export class SqliteClient implements StoreWriter {
  /** One connection writes at a time; the plants that arrive during a transaction go into the next one. */
  readonly maxInFlight = 1
  readonly #clock: Clock
  readonly #startThread: StartThread
  #thread: DatabaseThread | undefined
  /** A resolver for each outstanding request: the thread answers in order. */
  readonly #pending: ((answer: SqliteAnswer) => void)[] = []
  #wasOpen = false
  /** The last answer of a thread that is exiting or has exited; undefined once another may be started. */
  #lastAnswer: FailedAnswer | undefined
  #exitedAt = 0
  #closed = false
  #exit: Promise<void> | undefined

  constructor (
    path: string, clock: Clock = systemClock, startThread: StartThread = wasOpen => new GuardedWorker(path, wasOpen)
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
  ): Promise<readonly WriteResult[] | CreateFailure> {
    const until = monotonicMs() + earliestDeadline - this.#clock.now() - LOCK_MARGIN_MS
    const answer = await this.#ask({ kind: 'write', plants: packPlants(plants), until })
    if (answer.kind === 'done') {
      const { outcomes } = answer
      return plants.map((_, i) => OUTCOMES[outcomes?.[i] ?? 0] ?? 'stored')
    }
    return failureOf(answer)
  }

  /** @throws {StoreUnusable} if the file must not be written */
  async check (thoroughly: boolean): Promise<void> {
    const answer = await this.#ask({ kind: 'check', thoroughly })
    if (answer.kind !== 'done') throw new (answer.kind === 'unusable' ? StoreUnusable : Error)(`SQLite: ${answer.message}`)
  }

  async close (): Promise<void> {
    this.#closed = true
    this.#thread?.postMessage({ kind: 'close' } satisfies SqliteRequest)
    await this.#exit
  }

  /** Sends a request after those sent before; resolves with its answer, even if the thread dies. */
  async #ask (request: SqliteRequest): Promise<SqliteAnswer> {
    while (this.#lastAnswer !== undefined) {
      // Otherwise a file that cannot be opened would cost a thread for each batch.
      const isRecent = this.#clock.now() - this.#exitedAt < REOPEN_INTERVAL_MS
      if (request.kind === 'write' && isRecent && this.#lastAnswer.permanent) return this.#lastAnswer
      await this.#exit
      this.#lastAnswer = undefined
    }
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
      else if (answer.ends) {
        this.#lastAnswer = answer
        this.#exitedAt = this.#clock.now()
      }
      this.#pending.shift()?.(answer)
    })
    thread.on('error', error => { message += `: ${error.message}` })
    this.#exit = new Promise(resolve => {
      thread.on('exit', () => {
        this.#thread = undefined
        // It is unknown what a thread was doing when it died. One that announced its exit did nothing more.
        const outcomeUnknown = this.#lastAnswer === undefined
        const answer = { ...this.#lastAnswer ?? failed(message), outcomeUnknown }
        for (const resolveRequest of this.#pending.splice(0)) resolveRequest(answer)
        resolve()
      })
    })
    return thread
  }
}

function failed (message: string): FailedAnswer {
  return { kind: 'failed', message, outcomeUnknown: false, permanent: false, ends: true }
}

function failureOf ({ message, outcomeUnknown, permanent }: FailedAnswer): CreateFailure {
  const reason = `SQLite: ${message}`
  return outcomeUnknown ? new PlantOutcomeUnknown(reason) : new PlantNotStored(reason, { permanent })
}
