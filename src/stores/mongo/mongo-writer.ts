import { systemClock, type Clock } from '../../clock.js'
import { RESPONSE_MARGIN_MS, type CreateError, type StoreWriter, type WriteResult } from '../batching/store-writer.js'
import { PlantOutcomeUnknown, type NewPlant } from '../store.js'
import { checkWriting, ping } from './mongo-check.js'
import { ClientWatch, type Attempt } from './mongo-client-watch.js'
import { COMMAND_OPTIONS, DURABLE, type MongoCollection } from './mongo-driver.js'
import { checkFailedBecause, faultOf, serversOf, unsentBecause, type DriverError } from './mongo-errors.js'
import {
  commandFailure, DUPLICATE_KEY, duplicateOutcome, evidenceOf, idOf, refusalOfSize, refusalOfTheStore, writeFailure,
  type ExistingDocument, type InsertReply
} from './mongo-outcomes.js'

const CHECK_TIMEOUT_MS = 5_000

type Results = readonly WriteResult[]
/** By id, in decimal digits. */
type ExistingDocuments = ReadonlyMap<string, ExistingDocument>

/**
 * Writes batches of plants with the `insert` command (unordered, majority, journal), and decides the outcome of each
 * plant by the evidence:
 *
 * - no error for this plant, in a response without a write concern error that counts all plants: stored;
 * - a duplicate key: the existing plant is read with majority read concern, and compared;
 * - an error code that leaves nothing open, or a plant that is too large for a document: refused for good;
 * - no `insert` of the batch left this process: not stored, unless MongoDB did not respond;
 * - anything else, such as a lost response or a write concern error: unknown.
 *
 * The driver's `insertMany` does not return the server's response.
 */
export class MongoWriter implements StoreWriter {
  readonly maxInFlight = 16

  /** @param renew makes another client, if the client is the store's own, which the store closes */
  constructor (
    private plants: MongoCollection, private readonly renew?: () => MongoCollection,
    private readonly clock: Clock = systemClock
  ) {}

  async write (plants: readonly NewPlant[], deadline: number): Promise<Results | CreateError> {
    const [first] = plants
    // The queue sends so large a plant alone. Smaller ones fit together into a command, and the driver can write any.
    const tooLarge = first !== undefined && plants.length === 1 ? refusalOfSize(first) : undefined
    if (tooLarge !== undefined) return [tooLarge]
    const watch = ClientWatch.of(this.plants.db.client)
    return await watch.attempt(this.clock, this.#timeout(deadline), async attempt => {
      const reply = await this.#send(plants, attempt)
      return reply instanceof Error ? reply : await this.#decide(plants, reply, attempt)
    })
  }

  /** Milliseconds: slightly more than the driver's own timeout, if it has one, and no more than the deadline allows. */
  #timeout (deadline: number): number {
    const { socketTimeoutMS } = this.plants.db.client.options
    const timeLeft = deadline - this.clock.now() - RESPONSE_MARGIN_MS
    return socketTimeoutMS > 0 ? Math.min(socketTimeoutMS * 1.2, timeLeft) : timeLeft
  }

  /** Sends an insert. Returns the response, or what its failure means, by how far the insert has come. */
  async #send (plants: readonly NewPlant[], attempt: Attempt): Promise<InsertReply | CreateError> {
    const collection = this.plants
    const { comment, signal } = attempt
    // A bigint is written as a BSON int64 (Long).
    const documents = plants.map(({ id: _id, name, tag }) => tag === undefined ? { _id, name } : { _id, name, tag })
    const insert = { insert: collection.collectionName, documents, ordered: false, comment, ...DURABLE }
    try {
      return await attempt.settle(() => collection.db.command(insert, { ...COMMAND_OPTIONS, signal }))
    } catch (thrown) {
      const error = thrown as DriverError
      // The driver throws a response with a write concern error; the error contains the result of each plant.
      if (error.name === 'MongoWriteConcernError') return error.result as InsertReply
      // A server may give a duplicate as the error of the command, and does not say which plant it is.
      const duplicates = plants.map((_plant, index) => ({ index, code: DUPLICATE_KEY }))
      if (error.code === DUPLICATE_KEY) return { n: 0, writeErrors: duplicates }
      if (attempt.wasSent) return commandFailure(error, true)
      const reason = unsentBecause(error, ClientWatch.of(collection.db.client).topology)
      this.#renewClient(reason, collection)
      return commandFailure(reason, false)
    }
  }

  /** Decides by the server's response. */
  async #decide (plants: readonly NewPlant[], reply: InsertReply, attempt: Attempt): Promise<Results | CreateError> {
    const evidence = evidenceOf(reply, plants.length)
    const refusal = refusalOfTheStore(evidence, plants.length)
    if (refusal !== undefined) return refusal
    const { errors, doubt } = evidence
    const duplicates = plants.filter((_plant, index) => errors.get(index)?.code === DUPLICATE_KEY)
    const existing = duplicates.length === 0 ? new Map() : await this.#readExisting(duplicates, attempt)
    return plants.map((plant, index) => {
      const error = errors.get(index)
      if (error === undefined) return doubt ?? 'stored'
      if (error.code !== DUPLICATE_KEY) return writeFailure(error)
      if (existing instanceof Error) return existing
      return duplicateOutcome(plant, existing.get(String(plant.id)), error.keyPattern)
    })
  }

  /** Reads what the majority has under the plants' ids. */
  async #readExisting (plants: readonly NewPlant[], attempt: Attempt): Promise<ExistingDocuments | CreateError> {
    const filter = { _id: { $in: plants.map(({ id }) => id) } }
    const options = { ...COMMAND_OPTIONS, readConcern: 'majority', signal: attempt.signal, comment: attempt.comment }
    try {
      const documents = await attempt.settle(() => this.plants.find(filter, options).toArray())
      return new Map((documents as ExistingDocument[]).map(document => [idOf(document), document]))
    } catch (error) {
      const fault = faultOf(error as DriverError)
      return new PlantOutcomeUnknown(`MongoDB: a plant with this id exists, but could not be read: ${fault}`)
    }
  }

  /** Resolves if the primary responds and, if the check is thorough, takes writes. */
  async check (thoroughly: boolean): Promise<void> {
    const plants = this.plants
    const watch = ClientWatch.of(plants.db.client)
    const check = thoroughly ? checkWriting : ping
    try {
      await watch.attempt(this.clock, CHECK_TIMEOUT_MS, attempt => attempt.settle(() => check(plants, attempt.signal)))
    } catch (thrown) {
      const error = checkFailedBecause(thrown as DriverError, watch.topology)
      this.#renewClient(error, plants)
      throw new Error(faultOf(error))
    }
  }

  async close (): Promise<void> {
    if (this.renew !== undefined) await this.plants.db.client.close()
  }

  /**
   * Replaces a client of the store's own that found no server, unless all respond, as in an election. It may look for
   * none any more: the driver closes one that never connected, and a monitor that wrote its `hello` to a connection
   * just when that closed waits forever.
   */
  #renewClient (error: DriverError, plants: MongoCollection): void {
    const foundNone = ['MongoServerSelectionError', 'MongoTopologyClosedError'].includes(error.name)
    const allRespond = serversOf(error)?.every(({ type }) => type !== 'Unknown') ?? false
    if (this.renew === undefined || plants !== this.plants || !foundNone || allRespond) return
    this.plants = this.renew()
    plants.db.client.close().catch(() => {})
  }
}
