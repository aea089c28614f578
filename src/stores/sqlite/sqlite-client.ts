import { systemClock, type Clock } from '../../clock.js'
import { messageOf } from '../../error-message.js'
import type { CreateError, StoreWriter, WriteResult } from '../batching/store-writer.js'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable, type NewPlant } from '../../plant-store.js'
import { identityOf, LOCK_WAIT_MS } from './database.js'
import { startDatabaseThread, type DatabaseThread } from './database-thread.js'
import type { Row } from './plants-table.js'
import { SqliteError, unusable, type Failure } from './sqlite-error.js'
import type { SqliteAnswer, SqliteRequest } from './sqlite-worker.js'

type FailedAnswer = Extract<SqliteAnswer, { kind: 'failed' }>

/** Writes batches of plants through a thread that has the database open, and starts another thread if that one dies. */
export class SqliteClient implements StoreWriter {
  /** One connection writes at a time; the plants that arrive during a transaction go into the next one. */
  readonly maxInFlight = 1
  #thread: DatabaseThread | undefined
  /** The thread answers in order. */
  readonly #pending: ((answer: SqliteAnswer) => void)[] = []
  /** The identity of the file, once a thread has had it open. */
  #openedFile: string | undefined
  /** Whether a thread has ever answered. */
  #wasLoaded = false
  #exit: Promise<void> | undefined
  #closed = false

  constructor (
    private readonly path: string, private readonly clock: Clock = systemClock,
    private readonly startThread = startDatabaseThread
  ) {}

  async open (): Promise<void> {
    await this.check(false).catch(error => { if (error instanceof StoreUnusable) throw error })
  }

  async write (
    plants: readonly NewPlant[], _deadline: number, earliestDeadline: number
  ): Promise<readonly WriteResult[] | CreateError> {
    const rows = plants.map(({ id, name, tag = null }): Row => [id, name, tag])
    // It ends early enough for the outcome to be reported, even after a check that waits too.
    const lockWaitMs = Math.min(earliestDeadline - this.clock.now() - 2 * LOCK_WAIT_MS, LOCK_WAIT_MS)
    const answer = await this.#ask({ kind: 'write', rows, lockWaitMs })
    if (answer.kind === 'failed') return toCreateError(answer)
    const { outcomes } = answer
    return outcomes?.map(result => typeof result === 'string' ? result : toCreateError(result)) ?? rows.map(() => 'stored')
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
    // A thread that ends closes its files first.
    if (this.#thread === undefined && this.#exit !== undefined) await this.#exit
    if (this.#closed) return failed(new SqliteError('the store is closed'))
    try {
      this.#thread ??= this.#start()
    } catch (error) {
      // In a bundle in CommonJS, the address of the thread's code is not valid.
      if (error instanceof TypeError) return notLoadable(error)
      return failed(error instanceof SqliteError ? error : new SqliteError(`no thread for the database could be started: ${messageOf(error)}`))
    }
    this.#thread.postMessage(request)
    return await new Promise(resolve => { this.#pending.push(resolve) })
  }

  #start (): DatabaseThread {
    const thread = this.startThread(this.path, this.#openedFile)
    // It is unknown what a thread was doing when it died.
    let fault = failed(new SqliteError('the database thread exited', { outcomeUnknown: true }))
    thread.on('message', (answer: SqliteAnswer) => {
      this.#wasLoaded = true
      if (answer.kind === 'done') this.#openedFile ??= identityOf(this.path)
      else if (answer.reopen) {
        this.#thread = undefined
        fault = { ...answer, outcomeUnknown: false }
      }
      this.#pending.shift()?.(answer)
    })
    thread.on('error', (error: Error) => {
      fault = this.#wasLoaded ? { ...fault, message: `${fault.message}: ${error.message}` } : notLoadable(error)
    })
    this.#exit = new Promise(resolve => {
      thread.on('exit', () => {
        this.#thread = undefined
        for (const resolveRequest of this.#pending.splice(0)) resolveRequest(fault)
        resolve()
      })
    })
    return thread
  }
}

function notLoadable ({ message }: Error): FailedAnswer {
  return failed(unusable(`the code of the database thread cannot be loaded (${message}): if the app is bundled, mark plant-store as external`))
}

function failed ({ failure }: SqliteError): FailedAnswer {
  return { kind: 'failed', ...failure }
}

function toCreateError ({ message, outcomeUnknown = false, permanent = false }: Failure): CreateError {
  const reason = `SQLite: ${message}`
  return outcomeUnknown ? new PlantOutcomeUnknown(reason) : new PlantNotStored(reason, { permanent })
}
