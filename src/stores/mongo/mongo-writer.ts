import { randomBytes } from 'node:crypto'
import { systemClock, type Clock } from '../../clock.js'
import type { CreateFailure, WriteResult } from '../batching/batch-writer.js'
import type { StoreWriter } from '../batching/batched-plant-store.js'
import { RESPONSE_TIME_MS } from '../batching/expiry.js'
import { PlantNotStored, PlantOutcomeUnknown, type NewPlant } from '../plant-store.js'
import type { CommandStarted, MongoCollection, MongoDriverClient } from './mongo-driver.js'
import { connectionFault, isSelectionError, isServerError, isWriteConcernError, wasSilent } from './mongo-errors.js'

/** A plant in MongoDB. A bigint is written as a BSON int64 (Long). */
export interface PlantDocument {
  _id: bigint
  name: string
  tag?: string
}

interface WriteError {
  index: number
  code: number
  errmsg: string
  /** The index of a duplicate key; not every server names it. */
  keyPattern?: object
}

interface Duplicate {
  plant: NewPlant
  error: WriteError
}

/** The response to `insert`, https://www.mongodb.com/docs/manual/reference/command/insert/#output */
interface InsertReply {
  writeErrors?: WriteError[]
  writeConcernError?: { code: number, errmsg: string }
}

// https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml
const DUPLICATE_KEY = 11000
/** Permanent errors: nothing was written, and retrying does not help. */
const REFUSALS = new Set([13 /* Unauthorized */, 18 /* AuthenticationFailed */, 121])
/**
 * How responses are decoded, also if the client's own options differ: integers as numbers if they are exact, otherwise
 * as Long. With `useBigInt64` the driver's monitor would throw an uncaught error on a topology version.
 */
export const REPLIES = { raw: false, promoteValues: true, promoteLongs: true, useBigInt64: false } as const
/** Without a timeout, a ping whose connection closes would keep its place in the pool. */
const PING_TIMEOUT_MS = 5_000

/**
 * Writes batches of plants with the `insert` command (unordered, majority, journal), and decides the outcome of each
 * plant by the evidence:
 *
 * - no error for this plant, in a response without a write concern error: stored;
 * - a duplicate key: the existing plant is read with majority read concern, and compared;
 * - a write concern error: open, since the write can still be rolled back;
 * - no `insert` of the batch left this process: not stored, unless MongoDB did not respond;
 * - anything else (a lost response, a shard's failure that mongos passes on as a write error): open.
 *
 * It runs the command itself because the driver's `insertMany` does not return the server's response, and measures each
 * document once more than needed.
 */
export class MongoWriter implements StoreWriter {
  readonly maxInFlight = 16
  readonly #plants: MongoCollection
  /** Set if the client is the store's own, which the store connects and closes. */
  readonly #ownClient: MongoDriverClient | undefined
  readonly #clock: Clock
  #isConnected = false
  /** Why the last attempt to connect failed. */
  #connectionError: unknown
  /** Milliseconds: slightly more than the driver's socket timeout, if it has one. */
  readonly #longestTry: number
  readonly #name = `plant-store ${randomBytes(6).toString('hex')}`
  #batches = 0
  /** Comments of the batches in flight whose command was sent; undefined if the client does not monitor commands. */
  readonly #sent: Set<unknown> | undefined

  constructor (plants: MongoCollection, ownClient?: MongoDriverClient, clock: Clock = systemClock) {
    this.#plants = plants
    this.#ownClient = ownClient
    this.#clock = clock
    this.#isConnected = ownClient === undefined
    const { client } = plants.db
    const { socketTimeoutMS, monitorCommands } = client.options
    this.#longestTry = socketTimeoutMS > 0 ? socketTimeoutMS * 1.2 : Infinity
    if (monitorCommands) {
      this.#sent = new Set()
      client.on('commandStarted', this.#onCommand)
    }
  }

  /** Resolves if the primary responds. */
  async check (): Promise<void> {
    try {
      await this.#connect()
      await this.#plants.db.command({ ping: 1 }, { readPreference: 'primary', ...REPLIES, signal: AbortSignal.timeout(PING_TIMEOUT_MS) })
    } catch (error) {
      throw new Error(connectionFault(error))
    }
  }

  async close (): Promise<void> {
    this.#plants.db.client.off('commandStarted', this.#onCommand)
    await this.#ownClient?.close()
  }

  /**
   * Connects; the driver does so once for all concurrent callers. It would also connect by itself, but only once: after
   * a failed first connection, it always throws "Topology is closed".
   */
  async #connect (): Promise<void> {
    try {
      await this.#ownClient?.connect()
      this.#isConnected = true
    } catch (error) {
      this.#connectionError = error
      throw error
    }
  }

  /** Connects, unless the signal aborts first; it then throws why the last attempt failed. */
  #connectUntil (signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(this.#connectionError ?? signal.reason), { once: true })
      this.#connect().then(resolve, reject)
    })
  }

  readonly #onCommand = ({ commandName, command }: CommandStarted): void => {
    if (commandName === 'insert' && String(command.comment).startsWith(this.#name)) this.#sent?.add(command.comment)
  }

  async write (plants: readonly NewPlant[], deadline: number): Promise<readonly WriteResult[] | CreateFailure> {
    const comment = `${this.#name} ${++this.#batches}`
    // The driver's own timeouts are not enough: a command whose connection closes while it is being written never
    // settles, and keeps its place in the pool. Aborting it frees both.
    const limit = new AbortController()
    const timer = this.#clock.setTimeout(
      () => limit.abort(new Error('no response in time')),
      Math.min(this.#longestTry, deadline - this.#clock.now() - RESPONSE_TIME_MS)
    )
    try {
      if (!this.#isConnected) await this.#connectUntil(limit.signal)
      const reply: InsertReply = await this.#plants.db.command({
        insert: this.#plants.collectionName,
        documents: plants.map(documentOf),
        ordered: false,
        writeConcern: { w: 'majority', j: true },
        comment
      }, { readPreference: 'primary', ...REPLIES, signal: limit.signal })
      return await this.#judge(plants, reply, limit.signal)
    } catch (error) {
      // The driver throws a response with a write concern error; the error contains the result of each plant.
      if (isWriteConcernError(error)) return await this.#judge(plants, error.result, limit.signal)
      return this.#failure(error, comment)
    } finally {
      timer.clear()
      this.#sent?.delete(comment)
    }
  }

  async #judge (
    plants: readonly NewPlant[], { writeErrors, writeConcernError }: InsertReply, signal: AbortSignal
  ): Promise<readonly WriteResult[]> {
    if (writeErrors === undefined && writeConcernError === undefined) return plants.map(() => 'stored')
    const open = writeConcernError && new PlantOutcomeUnknown(`MongoDB: write concern error ${describe(writeConcernError)}`)
    const results: WriteResult[] = plants.map(() => open ?? 'stored')
    const duplicates = new Map<number, Duplicate>()
    for (const error of writeErrors ?? []) {
      const plant = plants[error.index]
      if (plant !== undefined && error.code === DUPLICATE_KEY) duplicates.set(error.index, { plant, error })
      else results[error.index] = failureOf(error)
    }
    if (duplicates.size > 0) await this.#compare(duplicates, results, signal)
    return results
  }

  /**
   * Compares existing plants with those that have the same id. A plant that the majority does not have yet may be
   * rolled back: its outcome is open.
   */
  async #compare (
    duplicates: ReadonlyMap<number, Duplicate>, results: WriteResult[], signal: AbortSignal
  ): Promise<void> {
    let found: Map<string, object>
    try {
      const ids = [...duplicates.values()].map(({ plant }) => plant.id)
      const documents = await this.#plants.find({ _id: { $in: ids } }, {
        readPreference: 'primary',
        readConcern: 'majority',
        ...REPLIES,
        signal
      }).toArray()
      found = new Map(documents.map(document => [idOf(document), document]))
    } catch (error) {
      const open = new PlantOutcomeUnknown(`MongoDB: a plant with this id exists, but could not be read: ${connectionFault(error)}`)
      for (const index of duplicates.keys()) results[index] = open
      return
    }
    for (const [index, { plant: { id, name, tag }, error: { keyPattern = { _id: 1 } } }] of duplicates) {
      const document = found.get(String(id))
      if (document === undefined && !('_id' in keyPattern)) results[index] = new PlantNotStored('MongoDB: another unique index of the collection refuses it', { permanent: true })
      else if (document === undefined) results[index] = new PlantOutcomeUnknown('MongoDB: a plant with this id exists, but not on the majority yet')
      else results[index] = Reflect.get(document, 'name') === name && Reflect.get(document, 'tag') === tag ? 'same' : 'taken'
    }
  }

  #failure (error: unknown, comment: string): CreateFailure {
    const reason = connectionFault(error)
    if (isServerError(error) && REFUSALS.has(Number(error.code))) return new PlantNotStored(reason, { permanent: true })
    const wasNotSent = this.#sent?.has(comment) === false || isSelectionError(error)
    const saysNothingWritten = isServerError(error) && error.errorLabels?.includes('NoWritesPerformed') === true
    const isNotStored = saysNothingWritten || (wasNotSent && !wasSilent(error))
    return new (isNotStored ? PlantNotStored : PlantOutcomeUnknown)(reason)
  }
}

/** The id in decimal digits, also if another program wrote it as a double, which `String` would round. */
function idOf (document: object): string {
  const id: unknown = Reflect.get(document, '_id')
  return String(Number.isInteger(id) ? BigInt(Number(id)) : id)
}

function documentOf ({ id, name, tag }: NewPlant): PlantDocument {
  return tag === undefined ? { _id: id, name } : { _id: id, name, tag }
}

function failureOf (error: WriteError): CreateFailure {
  const reason = `MongoDB: write error ${describe(error)}`
  return REFUSALS.has(error.code) ? new PlantNotStored(reason, { permanent: true }) : new PlantOutcomeUnknown(reason)
}

function describe ({ code, errmsg }: { code: number, errmsg: string }): string {
  // The message of a duplicate key or of a validator contains the plant, which must not be logged.
  return REFUSALS.has(code) ? String(code) : `${code} (${errmsg})`
}
