import { dirname } from 'node:path'
import { codeOf, messageOf } from '../../error-message.js'
import type { CreateError, StoreWriter, WriteResult } from '../batching/store-writer.js'
import type { NewPlant } from '../../plant.js'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable } from '../store.js'
import { startDatabaseThread, type DatabaseThread } from './database-thread.js'
import type { Row } from './plants-table.js'
import type { Failure } from './sqlite-error.js'
import type { Opening, SqliteAnswer, SqliteRequest } from './sqlite-worker.js'

/** Writes batches of plants through a thread that has the database open, and starts another thread if that one dies. */
export class SqliteClient implements StoreWriter {
  /** One connection writes at a time; the plants that arrive during a transaction go into the next one. */
  readonly maxInFlight = 1
  /** Which takes requests. */
  #thread: DatabaseThread | undefined
  /** The thread answers in order. */
  readonly #pending: ((answer: SqliteAnswer) => void)[] = []
  /** The identity of the file, once a thread has had it open. */
  #openedFile: string | undefined
  #exit: Promise<unknown> | undefined
  #closed = false

  constructor (private readonly path: string, private readonly startThread = startDatabaseThread) {}

  async open (): Promise<void> {
    const answer = await this.#ask({ check: 'quick' })
    if (isFailure(answer) && answer.kind === 'unusable') throw toCheckError(answer)
  }

  async write (plants: readonly NewPlant[]): Promise<readonly WriteResult[] | CreateError> {
    // `map` would make an array that takes longer between threads.
    const rows: Row[] = []
    for (const { id, name, tag = null } of plants) rows.push([id, name, tag])
    const answer = await this.#ask(rows)
    if (answer === 'all stored') return rows.map(() => 'stored')
    if (answer === 'writable') throw new TypeError('this is the answer to a check')
    if (isFailure(answer)) return toCreateError(answer)
    return answer.map(result => typeof result === 'string' ? result : toCreateError(result))
  }

  /** @throws {StoreUnusable} if the file must not be written */
  async check (thoroughly: boolean): Promise<void> {
    const answer = await this.#ask({ check: thoroughly ? 'thorough' : 'quick' })
    if (isFailure(answer)) throw toCheckError(answer)
  }

  async close (): Promise<void> {
    this.#closed = true
    this.#thread?.ref()
    this.#thread?.postMessage('close')
    await this.#exit
  }

  /** Sends a request after those sent before; resolves with its answer, even if the thread dies. */
  async #ask (request: SqliteRequest): Promise<SqliteAnswer> {
    // A thread that ends closes its files first.
    if (this.#thread === undefined) await this.#exit
    if (this.#closed) return { kind: 'busy', message: 'the store is closed' }
    try {
      this.#thread ??= this.#start()
    } catch (error) {
      return notStarted(error, this.path)
    }
    // An idle store keeps no process alive.
    if (this.#pending.length === 0) this.#thread.ref()
    this.#thread.postMessage(request)
    return await new Promise(resolve => { this.#pending.push(resolve) })
  }

  #start (): DatabaseThread {
    const thread = this.startThread(this.path, this.#openedFile)
    let hasOpened = false
    /** The answer to the requests that the thread leaves behind. */
    let unanswered: Failure = { kind: 'unusable', message: 'the database thread exited before it had opened the file' }
    /** The thread exits, and does not begin with what is pending. */
    const stopUsing = (failure: Failure): void => {
      this.#thread = undefined
      unanswered = failure
    }
    thread.once('message', (opening: Opening) => {
      if (isFailure(opening)) return stopUsing(opening)
      hasOpened = true
      this.#openedFile ??= opening.openedFile
      // What it was doing when it died.
      unanswered = { kind: 'unknown', message: 'the database thread exited' }
      thread.on('message', (answer: SqliteAnswer) => {
        if (isFailure(answer) && answer.closes === true) stopUsing({ kind: 'busy', message: answer.message })
        this.#pending.shift()?.(answer)
        if (this.#pending.length === 0 && this.#thread === thread) thread.unref()
      })
    })
    thread.on('error', (error: unknown) => {
      if (hasOpened) unanswered = { ...unanswered, message: `${unanswered.message}: ${messageOf(error)}` }
      else unanswered = notStarted(error, this.path)
    })
    thread.on('exit', () => {
      this.#thread = undefined
      for (const resolve of this.#pending.splice(0)) resolve(unanswered)
    })
    this.#exit = new Promise(resolve => { thread.on('exit', resolve) })
    return thread
  }
}

function isFailure (message: SqliteAnswer | Opening): message is Failure {
  return typeof message === 'object' && 'kind' in message
}

function toCheckError ({ kind, message }: Failure): Error {
  return kind === 'unusable' ? new StoreUnusable(`SQLite: ${message}`) : new Error(`SQLite: ${message}`)
}

function toCreateError ({ kind, message }: Failure): CreateError {
  const reason = `SQLite: ${message}`
  if (kind === 'unknown') return new PlantOutcomeUnknown(reason)
  return new PlantNotStored(reason, { permanent: kind !== 'busy' })
}

/** Why a thread never opened the file: its code could not be loaded or was not allowed to run, or there is no room. */
function notStarted (error: unknown, path: string): Failure {
  const message = `no thread for the database could be started: ${messageOf(error)}`
  if (codeOf(error) === 'ERR_WORKER_INIT_FAILED') return { kind: 'busy', message }
  // An error without a code is our own, and says what to do.
  if (codeOf(error) === undefined) return { kind: 'unusable', message }
  return { kind: 'unusable', message: `${message} (if the app is bundled, mark plant-store as external; under Node's permission model, start Node with --allow-worker, with --allow-fs-read for the code, and with --allow-fs-read and --allow-fs-write for ${dirname(path)})` }
}
