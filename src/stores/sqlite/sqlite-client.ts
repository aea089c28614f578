import type { EventEmitter } from 'node:events'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { systemClock, type Clock } from '../../clock.js'
import { codeOf, messageOf } from '../../error-message.js'
import { RESPONSE_MARGIN_MS, type CreateError, type StoreWriter, type WriteResult } from '../batching/store-writer.js'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable, type NewPlant } from '../store.js'
import { identityOf, LOCK_WAIT_MS } from './database.js'
import type { Row } from './plants-table.js'
import type { Failure } from './sqlite-error.js'
import type { SqliteAnswer, SqliteRequest, ThreadData } from './sqlite-worker.js'

/** How long an exiting process waits for its threads: longer than any lock and nearly all commits. */
const LONGEST_EXIT_MS = 2_000

export type DatabaseThread = EventEmitter & { postMessage: (request: SqliteRequest) => void }

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
    // The wait ends early enough for the outcome to be reported, even after a check that waits too.
    const left = earliestDeadline - this.clock.now() - LOCK_WAIT_MS - 2 * RESPONSE_MARGIN_MS
    const answer = await this.#ask({ kind: 'write', rows, lockWaitMs: Math.min(left, LOCK_WAIT_MS) })
    if (answer === 'all stored') return rows.map(() => 'stored')
    if (answer === 'writable') throw new TypeError('this is the answer to a check')
    if ('kind' in answer) return toCreateError(answer)
    return answer.map(result => typeof result === 'string' ? result : toCreateError(result))
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
  async #ask (request: SqliteRequest): Promise<SqliteAnswer> {
    // A thread that ends closes its files first.
    if (this.#thread === undefined && this.#exit !== undefined) await this.#exit
    if (this.#closed) return { kind: 'busy', message: 'the store is closed' }
    try {
      this.#thread ??= this.#start()
    } catch (error) {
      const message = `no thread for the database could be started: ${messageOf(error)}`
      return loadingFailure(error, this.path) ?? { kind: 'busy', message }
    }
    this.#thread.postMessage(request)
    return await new Promise(resolve => { this.#pending.push(resolve) })
  }

  #start (): DatabaseThread {
    const thread = this.startThread(this.path, this.#openedFile)
    /** The answer to the requests that the thread leaves behind. What it was doing when it died is unknown. */
    let unanswered: Failure = { kind: 'unknown', message: 'the database thread exited' }
    thread.on('message', (answer: SqliteAnswer) => {
      if (typeof answer === 'string' || !('kind' in answer)) this.#openedFile ??= identityOf(this.path)
      else if (answer.reach === 'connection') {
        // The thread exits, and does not begin with what is pending.
        this.#thread = undefined
        unanswered = { ...answer, kind: answer.kind === 'unknown' ? 'busy' : answer.kind }
      }
      this.#pending.shift()?.(answer)
    })
    thread.on('error', (error: unknown) => {
      const message = `${unanswered.message}: ${messageOf(error)}`
      unanswered = loadingFailure(error, this.path) ?? { ...unanswered, message }
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

/** Why the code of a thread cannot be loaded, or is not allowed to run; undefined if it died of something else. */
function loadingFailure (error: unknown, path: string): Failure | undefined {
  switch (codeOf(error)) {
    case 'ERR_ACCESS_DENIED':
    case 'ERR_DLOPEN_DISABLED':
      return { kind: 'unusable', message: `Node's permission model denies what the store needs (${messageOf(error)}): start Node with --allow-worker, with --allow-fs-read for the code, and with --allow-fs-read and --allow-fs-write for ${dirname(path)}; Node 20 with --allow-addons too` }
    // In a bundle, the address of the code is not valid, or nothing is there.
    case 'ERR_INVALID_URL':
    case 'ERR_MODULE_NOT_FOUND':
    case 'MODULE_NOT_FOUND':
      return { kind: 'unusable', message: `the code of the database thread cannot be loaded (${messageOf(error)}): if the app is bundled, mark plant-store as external` }
    default:
      return undefined
  }
}

/** The threads of every store, which share one listener on the process. */
const runningThreads = new Map<Worker, Int32Array>()

/** @param openedFile the identity of the file, if an earlier thread had it open */
function startDatabaseThread (path: string, openedFile: string | undefined): DatabaseThread {
  const hasEnded = new Int32Array(new SharedArrayBuffer(4))
  const workerData: ThreadData = { path, openedFile, hasEnded }
  // Of the process's own arguments, `--input-type` (with `node -e`) would keep the thread from starting. Closing the
  // files that the thread leaves open would release the locks of other connections.
  const options = { workerData, execArgv: [], trackUnmanagedFds: false }
  const worker = new Worker(new URL('./sqlite-worker.js', import.meta.url), options)
  if (runningThreads.size === 0) process.on('exit', endThreads)
  runningThreads.set(worker, hasEnded)
  worker.on('exit', () => {
    runningThreads.delete(worker)
    if (runningThreads.size === 0) process.off('exit', endThreads)
  })
  return worker
}

/**
 * When the process exits, the threads first complete their tasks: `@photostructure/sqlite` aborts the whole process if
 * its thread is terminated during a call.
 */
function endThreads (): void {
  for (const worker of runningThreads.keys()) worker.postMessage({ kind: 'close' })
  const end = performance.now() + LONGEST_EXIT_MS
  for (const hasEnded of runningThreads.values()) Atomics.wait(hasEnded, 0, 0, Math.max(end - performance.now(), 0))
}
