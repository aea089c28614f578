import { systemClock, type Clock } from '../../clock.js'
import { messageOf } from '../../error-message.js'
import { RESPONSE_MARGIN_MS, type CreateError, type StoreWriter, type WriteResult } from '../batching/store-writer.js'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable, type NewPlant } from '../plant-store.js'
import { identityOf } from './database-file.js'
import { LOCK_WAIT_MS } from './database.js'
import { loadingFailure, startDatabaseThread, startingFailure, type DatabaseThread } from './database-thread.js'
import type { Row } from './plants-table.js'
import type { Failure } from './sqlite-error.js'
import type { SqliteAnswer, SqliteRequest, ThreadMessage } from './sqlite-worker.js'

/** Writes batches of plants through a thread that has the database open, and starts another thread if that one dies. */
export class SqliteClient implements StoreWriter {
  /** One connection writes at a time; the plants that arrive during a transaction go into the next one. */
  readonly maxInFlight = 1
  #thread: DatabaseThread | undefined
  /** The thread answers in order. */
  readonly #pending: ((answer: SqliteAnswer | Failure) => void)[] = []
  /** The identity of the file, once a thread has had it open. */
  #openedFile: string | undefined
  #exit: Promise<unknown> | undefined
  #closed = false

  constructor (
    private readonly path: string, private readonly clock: Clock = systemClock,
    private readonly startThread = startDatabaseThread
  ) {}

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
    const answer = await this.#ask({ kind: 'write', rows, lockWaitMs: this.#lockWaitUntil(earliestDeadline) })
    if (typeof answer === 'string') return rows.map(() => 'stored')
    if ('kind' in answer) return toCreateError(answer)
    return answer.map(result => typeof result === 'string' ? result : toCreateError(result))
  }

  /** It ends early enough for the outcome to be reported, even after a check that waits too. */
  #lockWaitUntil (deadline: number): number {
    const left = deadline - this.clock.now() - LOCK_WAIT_MS - 2 * RESPONSE_MARGIN_MS
    return Math.min(left, LOCK_WAIT_MS)
  }

  /** @throws {StoreUnusable} if the file must not be written */
  async check (thoroughly: boolean): Promise<void> {
    const answer = await this.#ask({ kind: 'check', thoroughly })
    if (typeof answer === 'string' || !('kind' in answer)) return
    const message = `SQLite: ${answer.message}`
    throw answer.kind === 'unusable' ? new StoreUnusable(message) : new Error(message)
  }

  async close (): Promise<void> {
    this.#closed = true
    this.#thread?.postMessage({ kind: 'close' })
    await this.#exit
  }

  /** Sends a request after those sent before; resolves with its answer, even if the thread dies. */
  async #ask (request: SqliteRequest): Promise<SqliteAnswer | Failure> {
    // A thread that ends closes its files first.
    if (this.#thread === undefined && this.#exit !== undefined) await this.#exit
    if (this.#closed) return { kind: 'busy', message: 'the store is closed' }
    try {
      this.#thread ??= this.#start()
    } catch (error) {
      return startingFailure(error, this.path)
    }
    this.#thread.postMessage(request)
    return await new Promise(resolve => { this.#pending.push(resolve) })
  }

  #start (): DatabaseThread {
    const thread = this.startThread(this.path, this.#openedFile)
    let hasLoaded = false
    /** The answer to the requests that the thread leaves behind. What it was doing when it died is unknown. */
    let unanswered: Failure = { kind: 'unknown', message: 'the database thread exited' }

    thread.on('message', (message: ThreadMessage) => {
      if (message === 'loaded') {
        hasLoaded = true
        return
      }
      const hasFailed = typeof message === 'object' && 'threadExits' in message
      if (!hasFailed) this.#openedFile ??= identityOf(this.path)
      if (hasFailed && message.threadExits) {
        this.#thread = undefined
        // It does not begin with those.
        unanswered = { kind: message.kind === 'unknown' ? 'busy' : message.kind, message: message.message }
      }
      this.#pending.shift()?.(message)
    })
    thread.on('error', (error: unknown) => {
      if (hasLoaded) unanswered = { ...unanswered, message: `${unanswered.message}: ${messageOf(error)}` }
      else unanswered = loadingFailure(error, this.path)
      // An earlier thread has loaded the same code.
      if (!hasLoaded && this.#openedFile !== undefined) unanswered = { ...unanswered, kind: 'busy' }
    })
    thread.on('exit', () => {
      this.#thread = undefined
      for (const resolve of this.#pending.splice(0)) resolve(unanswered)
    })
    this.#exit = new Promise(resolve => { thread.on('exit', resolve) })
    return thread
  }
}

function toCreateError ({ kind, message }: Failure): CreateError {
  const reason = `SQLite: ${message}`
  if (kind === 'unknown') return new PlantOutcomeUnknown(reason)
  return new PlantNotStored(reason, { permanent: kind !== 'busy' })
}
