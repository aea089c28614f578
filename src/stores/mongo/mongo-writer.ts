import { randomUUID } from 'node:crypto'
import { systemClock, type Clock } from '../../clock.js'
import { RESPONSE_MARGIN_MS, type CreateError, type StoreWriter, type WriteResult } from '../batching/store-writer.js'
import { PlantOutcomeUnknown, type NewPlant } from '../../plant-store.js'
import type { CommandStarted, MongoCollection, MongoDriverClient } from './mongo-driver.js'
import { connectionFault, type DriverError } from './mongo-errors.js'
import {
  commandFailure, describe, DUPLICATE_KEY, duplicateOutcome, idOf, writeFailure, type ExistingDocument, type WriteError
} from './mongo-outcomes.js'

/** A plant in MongoDB. A bigint is written as a BSON int64 (Long). */
export interface PlantDocument {
  _id: bigint
  name: string
  tag?: string
}

/** The response to `insert`, https://www.mongodb.com/docs/manual/reference/command/insert/#output */
interface InsertReply {
  writeErrors?: WriteError[]
  writeConcernError?: { code: number, errmsg: string }
}

/**
 * How commands run, also if the client's own options differ. Integers are decoded as numbers if they are exact,
 * otherwise as Long: with `useBigInt64` the driver's monitor would throw an uncaught error on a topology version.
 */
const OPTIONS = { readPreference: 'primary', raw: false, promoteValues: true, promoteLongs: true, useBigInt64: false } as const
/** Without a timeout, a ping whose connection closes would keep its place in the pool. */
const PING_TIMEOUT_MS = 5_000

/**
 * Writes batches of plants with the `insert` command (unordered, majority, journal), and decides the outcome of each
 * plant by the evidence:
 *
 * - no error for this plant, in a response without a write concern error: stored;
 * - a duplicate key: the existing plant is read with majority read concern, and compared;
 * - a write concern error: unknown, since the write can still be rolled back;
 * - no `insert` of the batch left this process: not stored, unless MongoDB did not respond;
 * - anything else (a lost response, a shard's failure that mongos passes on as a write error): unknown.
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
  #isConnected: boolean
  /** Why the last attempt to connect failed. */
  #connectionError: unknown
  /** Milliseconds: slightly more than the driver's socket timeout, if it has one. */
  readonly #longestTry: number
  /** Comments of the batches in flight whose command was not sent yet, if the client monitors commands. */
  readonly #unsent = new Set<unknown>()

  constructor (plants: MongoCollection, ownClient?: MongoDriverClient, clock: Clock = systemClock) {
    this.#plants = plants
    this.#ownClient = ownClient
    this.#clock = clock
    this.#isConnected = ownClient === undefined
    const { client } = plants.db
    const { socketTimeoutMS } = client.options
    this.#longestTry = socketTimeoutMS > 0 ? socketTimeoutMS * 1.2 : Infinity
    client.on('commandStarted', this.#onCommand)
  }

  /** Resolves if the primary responds. */
  async check (): Promise<void> {
    const signal = AbortSignal.timeout(PING_TIMEOUT_MS)
    try {
      await this.#connect(signal)
      await this.#plants.db.command({ ping: 1 }, { ...OPTIONS, signal })
    } catch (error) {
      throw new Error(connectionFault(error as DriverError))
    }
  }

  async close (): Promise<void> {
    this.#plants.db.client.off('commandStarted', this.#onCommand)
    await this.#ownClient?.close()
  }

  async write (plants: readonly NewPlant[], deadline: number): Promise<readonly WriteResult[] | CreateError> {
    const comment = `plant-store ${randomUUID()}`
    if (this.#plants.db.client.options.monitorCommands) this.#unsent.add(comment)
    // The driver's own timeouts are not enough: a command whose connection closes while it is being written never
    // settles, and keeps its place in the pool. Aborting it frees both.
    const limit = new AbortController()
    const { signal } = limit
    const timeout = Math.min(this.#longestTry, deadline - this.#clock.now() - RESPONSE_MARGIN_MS)
    const timer = this.#clock.setTimeout(() => limit.abort(new Error('no response in time')), timeout)
    try {
      await this.#connect(signal)
      const reply: InsertReply = await this.#plants.db.command({
        insert: this.#plants.collectionName,
        documents: plants.map(documentOf),
        ordered: false,
        writeConcern: { w: 'majority', j: true },
        comment
      }, { ...OPTIONS, signal })
      return await this.#judge(plants, reply, signal)
    } catch (error) {
      // The driver throws a response with a write concern error; the error contains the result of each plant.
      const { name, result } = error as DriverError
      if (name === 'MongoWriteConcernError' && result !== undefined) return await this.#judge(plants, result, signal)
      return commandFailure(error as DriverError, this.#unsent.has(comment))
    } finally {
      this.#clock.clearTimeout(timer)
      this.#unsent.delete(comment)
    }
  }

  /**
   * Connects the store's own client: the driver would do so by itself, but only once, and after a failure always throw
   * "Topology is closed". It connects once for all concurrent callers. If the signal aborts first, this throws why the
   * last attempt failed.
   */
  async #connect (signal: AbortSignal): Promise<void> {
    if (this.#isConnected) return
    await new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(this.#connectionError ?? signal.reason), { once: true })
      this.#ownClient?.connect().then(resolve, (error: unknown) => {
        this.#connectionError = error
        reject(error)
      })
    })
    this.#isConnected = true
  }

  readonly #onCommand = ({ command }: CommandStarted): void => {
    this.#unsent.delete(command.comment)
  }

  async #judge (
    plants: readonly NewPlant[], { writeErrors = [], writeConcernError }: InsertReply, signal: AbortSignal
  ): Promise<readonly WriteResult[]> {
    const unknown = writeConcernError && new PlantOutcomeUnknown(`MongoDB: write concern error ${describe(writeConcernError)}`)
    const results: WriteResult[] = plants.map(() => unknown ?? 'stored')
    for (const error of writeErrors) results[error.index] = writeFailure(error)
    const duplicates = writeErrors.filter(({ code }) => code === DUPLICATE_KEY)
    if (duplicates.length > 0) await this.#compare(plants, duplicates, results, signal)
    return results
  }

  /** Compares plants whose id exists with those that the majority has under these ids. */
  async #compare (
    plants: readonly NewPlant[], duplicates: readonly WriteError[], results: WriteResult[], signal: AbortSignal
  ): Promise<void> {
    const existing = new Map<string, ExistingDocument>()
    let unread: PlantOutcomeUnknown | undefined
    try {
      const filter = { _id: { $in: duplicates.map(({ index }) => plants[index]?.id) } }
      const documents = await this.#plants.find(filter, { ...OPTIONS, readConcern: 'majority', signal }).toArray()
      for (const document of documents as ExistingDocument[]) existing.set(idOf(document), document)
    } catch (error) {
      unread = new PlantOutcomeUnknown(`MongoDB: a plant with this id exists, but could not be read: ${connectionFault(error as DriverError)}`)
    }
    for (const { index, keyPattern } of duplicates) {
      const plant = plants[index]
      if (plant === undefined) continue
      results[index] = unread ?? duplicateOutcome(plant, existing.get(String(plant.id)), keyPattern)
    }
  }
}

function documentOf ({ id, name, tag }: NewPlant): PlantDocument {
  return tag === undefined ? { _id: id, name } : { _id: id, name, tag }
}
