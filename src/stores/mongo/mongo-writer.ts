import { randomUUID } from 'node:crypto'
import { systemClock, type Clock } from '../../clock.js'
import type { NewPlant } from '../../plant.js'
import { RESPONSE_MARGIN_MS, type CreateError, type StoreWriter, type WriteResult } from '../batching/store-writer.js'
import { PlantNotStored, PlantOutcomeUnknown } from '../store.js'
import { readExisting, type ExistingPlants } from './existing-plants.js'
import { COMMAND_OPTIONS, DURABLE, type MongoCollection } from './mongo-driver.js'
import { describe, hasNoServer, reasonOf, type DriverError } from './mongo-errors.js'
import { outcomeOfFailure, outcomeOfReply, replyIn, type InsertReply } from './mongo-outcomes.js'

const CHECK_TIMEOUT_MS = 5_000
/** How much longer than its own timeout the driver may take to find no server. */
const SELECTION_MARGIN_MS = 250

type Results = readonly WriteResult[]

/**
 * Writes batches of plants with the `insert` command (unordered, majority, journal), and decides the outcome of each
 * plant by the evidence:
 *
 * - no error for this plant, in a response without a write concern error that counts all plants: stored;
 * - a duplicate key: the existing plant is read with majority read concern, and compared;
 * - an error code that is certain, or a plant that the driver cannot write: refused for good;
 * - an error that shows that nothing was sent, or nothing written: not stored;
 * - anything else, such as a lost response or an error code that is not known: unknown.
 *
 * The driver's `insertMany` does not return the server's response.
 */
export class MongoWriter implements StoreWriter {
  readonly maxInFlight = 16
  /** When and why the latest attempt found no server, if it did. */
  #outage: { readonly at: number, readonly error: PlantNotStored } | undefined

  /** @param renew makes another client, if the client is the store's own, which the store closes */
  constructor (
    private plants: MongoCollection, private readonly renew?: () => MongoCollection,
    private readonly clock: Clock = systemClock
  ) {}

  async write (plants: readonly NewPlant[], deadline: number): Promise<Results | CreateError> {
    // Two processes that insert the same plants in different orders would wait for each other, if the server locks each
    // document until the command has ended.
    const sorted = plants.map((plant, index) => ({ plant, index }))
      .sort(({ plant: left }, { plant: right }) => Number(left.id - right.id))
    const results = await this.#writeSorted(sorted.map(({ plant }) => plant), deadline)
    if (results instanceof Error) return results
    const inOrder = new Array<WriteResult>(plants.length)
    for (const [at, { index }] of sorted.entries()) inOrder[index] = results[at] as WriteResult
    return inOrder
  }

  async #writeSorted (plants: readonly NewPlant[], deadline: number): Promise<Results | CreateError> {
    const outage = this.#outageUntil(deadline)
    if (outage !== undefined) return outage
    const collection = this.plants
    const { collectionName, db } = collection
    // A bigint is written as a BSON int64 (Long).
    const documents = plants.map(({ id: _id, name, tag }) => tag === undefined ? { _id, name } : { _id, name, tag })
    const insert = { insert: collectionName, documents, ordered: false, ...DURABLE }
    let reply: InsertReply | undefined
    try {
      reply = await this.#run(deadline, signal => db.command(insert, { ...COMMAND_OPTIONS, signal }))
    } catch (thrown) {
      const error = thrown as DriverError
      this.#noteFailure(error, collection)
      reply = replyIn(error, plants.length)
      if (reply === undefined) return outcomeOfFailure(error, plants.length)
    }
    return await outcomeOfReply(plants, reply, duplicates => this.#readExisting(duplicates, deadline))
  }

  /**
   * Why a plant is not sent, if there was no server a moment ago, and the driver could not tell before the deadline
   * that there is still none: an attempt that is given up would leave the outcome open.
   */
  #outageUntil (deadline: number): PlantNotStored | undefined {
    if (this.#outage === undefined) return undefined
    const timeToSelect = this.plants.db.client.options.serverSelectionTimeoutMS + SELECTION_MARGIN_MS
    const isRecent = this.clock.now() < this.#outage.at + timeToSelect
    return isRecent && this.#timeLeft(deadline) < timeToSelect ? this.#outage.error : undefined
  }

  async #readExisting (plants: readonly NewPlant[], deadline: number): Promise<ExistingPlants | PlantOutcomeUnknown> {
    const ids = plants.map(({ id }) => id)
    try {
      return await this.#run(deadline, signal => readExisting(this.plants, ids, signal))
    } catch (error) {
      const reason = reasonOf(error as DriverError)
      return new PlantOutcomeUnknown(`MongoDB: a plant with this id exists, but could not be read: ${reason}`)
    }
  }

  /** Runs a call of the driver until slightly after its own timeout, if it has one, or until the deadline. */
  async #run<Result> (deadline: number, call: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const { socketTimeoutMS } = this.plants.db.client.options
    const timeLeft = this.#timeLeft(deadline)
    const hasTimeout = socketTimeoutMS > 0
    return await this.#runFor(hasTimeout ? Math.min(socketTimeoutMS * 1.2, timeLeft) : timeLeft, call)
  }

  #timeLeft (deadline: number): number {
    return deadline - this.clock.now() - RESPONSE_MARGIN_MS
  }

  /**
   * Gives a call of the driver up after a number of milliseconds, which leaves open whether it was executed. The
   * driver's own timeouts are not enough: a command whose connection closes while it is being written never settles.
   */
  async #runFor<Result> (timeout: number, call: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const abortion = new AbortController()
    let timer: object = {}
    const timedOut = new Promise<never>((_resolve, reject) => {
      timer = this.clock.setTimeout(() => {
        const late = new Error('no response in time')
        reject(late)
        // So that the call keeps no connection.
        abortion.abort(late)
      }, timeout)
    })
    try {
      const result = await Promise.race([call(abortion.signal), timedOut])
      this.#outage = undefined
      return result
    } finally {
      this.clock.clearTimeout(timer)
    }
  }

  /**
   * Resolves if the primary responds and, if the check is thorough, takes writes: an update that finds no document
   * needs what a write needs, and changes nothing.
   */
  async check (thoroughly: boolean): Promise<void> {
    const collection = this.plants
    const { collectionName, db } = collection
    const updates = [{ q: { _id: `plant-store ${randomUUID()}` }, u: { $set: { name: '' } } }]
    const command = thoroughly ? { update: collectionName, updates, ...DURABLE } : { ping: 1 }
    try {
      const reply: InsertReply = await this.#runFor(
        CHECK_TIMEOUT_MS, signal => db.command(command, { ...COMMAND_OPTIONS, signal })
      )
      const [refusal] = reply.writeErrors ?? []
      if (refusal !== undefined) throw new Error(describe(refusal))
    } catch (thrown) {
      const error = thrown as DriverError
      this.#noteFailure(error, collection)
      throw new Error(reasonOf(error))
    }
  }

  async close (): Promise<void> {
    if (this.renew !== undefined) await this.plants.db.client.close()
  }

  /**
   * Notes that there is no server, and replaces the client that found none, if it is the store's own. It may look for
   * none any more: the driver closes one that never connected, and a monitor that wrote its `hello` to a connection
   * just when that closed waits forever.
   */
  #noteFailure (error: DriverError, plants: MongoCollection): void {
    this.#outage = undefined
    if (!hasNoServer(error)) return
    this.#outage = { at: this.clock.now(), error: new PlantNotStored(reasonOf(error)) }
    const isInUse = plants === this.plants
    if (this.renew === undefined || !isInUse) return
    this.plants = this.renew()
    plants.db.client.close().catch(() => {})
  }
}
