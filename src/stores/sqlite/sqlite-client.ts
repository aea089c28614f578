import type { EventEmitter } from 'node:events'
import { Worker } from 'node:worker_threads'
import { systemClock, type Clock } from '../../clock.js'
import type { CreateError, StoreWriter, WriteResult } from '../batching/store-writer.js'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable, type NewPlant } from '../plant-store.js'
import { identityOf, LOCK_WAIT_MS, requireOwnLog } from './database.js'
import type { Row } from './plants-table.js'
import { SqliteError, unusable, type Failure } from './sqlite-error.js'
import type { SqliteAnswer, SqliteRequest } from './sqlite-worker.js'

export type DatabaseThread = EventEmitter & { postMessage: (request: SqliteRequest) => void }

/** What a thread gets. The threads share `hasEnded`, which is 1 once the database is closed. */
export interface ThreadData { path: string, openedFile: string | undefined, hasEnded: Int32Array }

/** Writes batches of plants through a thread that has the database open, and starts another thread if that one dies. */
export class SqliteClient implements StoreWriter {
  /** One connection writes at a time; the plants that arrive during a transaction go into the next one. */
  readonly maxInFlight = 1
  #thread: DatabaseThread | undefined
  /** The thread answers in order. */
  readonly #pending: ((answer: SqliteAnswer) => void)[] = []
  /** The identity of the file, once a thread has had it open. */
  #openedFile: string | undefined
  #exit: Promise<unknown> | undefined
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
    if ('message' in answer) return toCreateError(answer)
    if (answer.length === 0) return rows.map(() => 'stored')
    return answer.map(result => typeof result === 'string' ? result : toCreateError(result))
  }

  /** @throws {StoreUnusable} if the file must not be written */
  async check (thoroughly: boolean): Promise<void> {
    const answer = await this.#ask({ kind: 'check', thoroughly })
    if ('message' in answer) throw new (answer.unusable ? StoreUnusable : Error)(`SQLite: ${answer.message}`)
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
    if (this.#closed) return { message: 'the store is closed' }
    try {
      this.#thread ??= this.#start()
    } catch (error) {
      if (error instanceof SqliteError) return error.failure
      // In a bundle in CommonJS, the address of the thread's code is not valid.
      if (error instanceof TypeError) return notLoadable(error)
      return { message: `no thread for the database could be started: ${(error as Error).message}` }
    }
    this.#thread.postMessage(request)
    return await new Promise(resolve => { this.#pending.push(resolve) })
  }

  #start (): DatabaseThread {
    const thread = this.startThread(this.path, this.#openedFile)
    // It is unknown what a thread was doing when it died.
    let fault: Failure = { message: 'the database thread exited', outcomeUnknown: true }
    thread.on('message', (answer: SqliteAnswer) => {
      if (!('message' in answer)) this.#openedFile ??= identityOf(this.path)
      else if (answer.reopen) {
        this.#thread = undefined
        fault = { ...answer, outcomeUnknown: false }
      }
      this.#pending.shift()?.(answer)
    })
    thread.on('error', (error: Error) => {
      fault = this.#openedFile === undefined ? { ...notLoadable(error), outcomeUnknown: true } : { ...fault, message: `${fault.message}: ${error.message}` }
    })
    thread.on('exit', () => {
      this.#thread = undefined
      for (const resolveRequest of this.#pending.splice(0)) resolveRequest(fault)
    })
    this.#exit = new Promise(resolve => { thread.on('exit', resolve) })
    return thread
  }
}

/**
 * Starts the thread of a database. When the process exits, the thread first completes its task:
 * `@photostructure/sqlite` aborts the whole process if its thread is terminated during a call.
 * @param openedFile the identity of the file, if an earlier thread had it open
 */
function startDatabaseThread (path: string, openedFile: string | undefined): DatabaseThread {
  if (openedFile === undefined) requireOwnLog(path)
  const workerData: ThreadData = { path, openedFile, hasEnded: new Int32Array(new SharedArrayBuffer(4)) }
  // Of the process's own arguments, `--input-type` (with `node -e`) would keep the thread from starting.
  const worker = new Worker(new URL('./sqlite-worker.js', import.meta.url), { workerData, execArgv: [] })
  const stop = (): void => {
    worker.postMessage({ kind: 'close' })
    // Milliseconds: longer than any wait for a lock, and than nearly all commits.
    Atomics.wait(workerData.hasEnded, 0, 0, 2_000)
  }
  process.on('exit', stop)
  worker.on('exit', () => process.off('exit', stop))
  return worker
}

function notLoadable ({ message }: Error): Failure {
  return unusable(`the code of the database thread cannot be loaded (${message}): if the app is bundled, mark plant-store as external`).failure
}

function toCreateError ({ message, outcomeUnknown = false, permanent = false }: Failure): CreateError {
  const reason = `SQLite: ${message}`
  return outcomeUnknown ? new PlantOutcomeUnknown(reason) : new PlantNotStored(reason, { permanent })
}
