import { systemClock, type Clock } from '../../clock.js'
import { RESPONSE_MARGIN_MS, type CreateError, type StoreWriter, type WriteResult } from '../batching/store-writer.js'
import { PlantOutcomeUnknown, type NewPlant } from '../plant-store.js'
import { checkWriting } from './mongo-check.js'
import { Attempt, ClientWatch } from './mongo-client-watch.js'
import { COMMAND_OPTIONS, DURABLE, type MongoCollection } from './mongo-driver.js'
import { errorOf, faultOf, isUnsendable, NotOfADriver, serversOf, type DriverError } from './mongo-errors.js'
import {
  commandFailure, DUPLICATE_KEY, duplicateOutcome, evidenceOf, idOf, refusalOfTheStore, tooLarge, unsendable,
  writeFailure, type ExistingDocument
} from './mongo-outcomes.js'

const CHECK_TIMEOUT_MS = 5_000
/** A monitor reports a server that it does not reach within the timeout of a connection, and this. */
const MONITOR_MARGIN_MS = 1_000

type Results = readonly WriteResult[]
type ExistingDocuments = ReadonlyMap<string, ExistingDocument>

/**
 * Writes batches of plants with the `insert` command (unordered, majority, journal), and decides the outcome of each
 * plant by the evidence:
 *
 * - no error for this plant, in a response without a write concern error that counts all plants: stored;
 * - a duplicate key: the existing plant is read with majority read concern, and compared;
 * - an error code that leaves nothing open, or a plant that cannot be sent: refused for good;
 * - no `insert` of the batch left this process: not stored, unless MongoDB did not respond;
 * - anything else, such as a lost response or a write concern error: unknown.
 *
 * The driver's `insertMany` does not return the server's response.
 */
export class MongoWriter implements StoreWriter {
  readonly maxInFlight = 16
  #plants: MongoCollection
  #watch: ClientWatch

  /** @param renew makes another client, if the client is the store's own, which the store closes */
  constructor (
    plants: MongoCollection, private readonly renew?: () => MongoCollection, private readonly clock: Clock = systemClock
  ) {
    this.#plants = plants
    this.#watch = ClientWatch.begin(plants.db.client, this)
  }

  async write (plants: readonly NewPlant[], deadline: number): Promise<Results | CreateError> {
    const sendable = plants.filter(plant => tooLarge(plant) === undefined)
    if (sendable.length === plants.length) return await this.#insert(plants, deadline)
    const outcomes = sendable.length === 0 ? [] : await this.#insertPart(sendable, deadline)
    const outcomeOf = new Map(sendable.map((plant, index) => [plant, outcomes[index]]))
    return plants.map(plant => tooLarge(plant) ?? outcomeOf.get(plant) as WriteResult)
  }

  /** Sends an insert, and decides by the response, or by the error and by how far the insert has come. */
  async #insert (plants: readonly NewPlant[], deadline: number): Promise<Results | CreateError> {
    const collection = this.#plants
    const watch = this.#watch
    const attempt = new Attempt(this.clock, this.#timeoutOf(collection, deadline))
    watch.add(attempt)
    try {
      const reply = await attempt.settle(() => send(plants, collection, attempt))
      return await this.#decide(plants, reply, attempt)
    } catch (thrown) {
      const error = errorOf(thrown)
      // The driver throws a response with a write concern error; the error contains the result of each plant.
      if (error.name === 'MongoWriteConcernError') return await this.#decide(plants, error.result, attempt)
      if (error.code === DUPLICATE_KEY) return await this.#decide(plants, duplicatesOnly(plants), attempt)
      if (attempt.progress !== 'sent' && isUnsendable(error)) return await this.#insertHalves(plants, deadline, error)
      if (attempt.progress !== 'waiting' || error instanceof NotOfADriver) return commandFailure(error, false)
      this.#renewIfForgotten(error, collection)
      return commandFailure(explained(error, attempt, watch), true)
    } finally {
      watch.remove(attempt)
      attempt.end()
    }
  }

  /** Milliseconds: slightly more than the driver's own timeout, if it has one, and no more than the deadline allows. */
  #timeoutOf ({ db }: MongoCollection, deadline: number): number {
    const { socketTimeoutMS } = db.client.options
    const timeLeft = deadline - this.clock.now() - RESPONSE_MARGIN_MS
    return socketTimeoutMS > 0 ? Math.min(socketTimeoutMS * 1.2, timeLeft) : timeLeft
  }

  /** Inserts part of a batch: why it failed as a whole becomes the outcome of each plant. */
  async #insertPart (plants: readonly NewPlant[], deadline: number): Promise<Results> {
    const results = await this.#insert(plants, deadline)
    return results instanceof Error ? plants.map(() => results) : results
  }

  /** Finds the plants that cannot be sent, and inserts the others. */
  async #insertHalves (plants: readonly NewPlant[], deadline: number, error: Error): Promise<Results> {
    if (plants.length === 1) return [unsendable(error)]
    const middle = Math.ceil(plants.length / 2)
    const first = await this.#insertPart(plants.slice(0, middle), deadline)
    const second = await this.#insertPart(plants.slice(middle), deadline)
    return [...first, ...second]
  }

  /** Decides by the server's response. */
  async #decide (plants: readonly NewPlant[], reply: unknown, attempt: Attempt): Promise<Results | CreateError> {
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
      return existing instanceof Error ? existing : duplicateOutcome(plant, existing, error.keyPattern)
    })
  }

  /** Reads what the majority has under the plants' ids. */
  async #readExisting (
    plants: readonly NewPlant[], attempt: Attempt
  ): Promise<ExistingDocuments | PlantOutcomeUnknown> {
    const filter = { _id: { $in: plants.map(({ id }) => id) } }
    const { signal, comment } = attempt
    const options = { ...COMMAND_OPTIONS, readConcern: 'majority', signal, comment }
    try {
      const documents = await attempt.settle(() => this.#plants.find(filter, options).toArray())
      return new Map((documents as ExistingDocument[]).map(document => [idOf(document), document]))
    } catch (error) {
      return new PlantOutcomeUnknown(`MongoDB: a plant with this id exists, but could not be read: ${faultOf(errorOf(error))}`)
    }
  }

  /** Resolves if the primary responds and, if the check is thorough, takes writes. */
  async check (thoroughly: boolean): Promise<void> {
    const plants = this.#plants
    const watch = this.#watch
    const attempt = new Attempt(this.clock, CHECK_TIMEOUT_MS)
    const { signal } = attempt
    const ping = () => plants.db.command({ ping: 1 }, { ...COMMAND_OPTIONS, signal })
    try {
      await attempt.settle<unknown>(thoroughly ? () => checkWriting(plants, signal) : ping)
    } catch (thrown) {
      const error = errorOf(thrown)
      this.#renewIfForgotten(error, plants)
      throw new Error(faultOf(explained(error, attempt, watch)))
    } finally {
      attempt.end()
    }
  }

  async close (): Promise<void> {
    try {
      if (this.renew !== undefined) await this.#plants.db.client.close()
    } finally {
      this.#watch.end(this)
    }
  }

  /**
   * Replaces a client of the store's own that looks for no server any more: one that never connected is closed, and a
   * monitor that wrote its `hello` to a connection just when that closed waits forever (7.9).
   */
  #renewIfForgotten (error: DriverError, plants: MongoCollection): void {
    const wasReplaced = plants !== this.#plants
    // The driver closes the topology of a client that could not connect, even after the command was aborted.
    const foundNone = error.name === 'MongoServerSelectionError' || error.name === 'MongoTopologyClosedError'
    if (this.renew === undefined || wasReplaced || !foundNone) return
    const { client } = plants.db
    const watch = this.#watch
    const oldest = this.clock.now() - (client.options.connectTimeoutMS || Infinity) - MONITOR_MARGIN_MS
    const servers = serversOf(error) ?? []
    const isForgotten = servers.some(server => server.type === 'Unknown' && server.lastUpdateTime < oldest)
    if (watch.hasConnected && !isForgotten) return
    this.#plants = this.renew()
    this.#watch = ClientWatch.begin(this.#plants.db.client, this)
    // Until it is closed it may still send something.
    client.close().catch(() => {}).finally(() => watch.end(this))
  }
}

function send (
  plants: readonly NewPlant[], { db, collectionName }: MongoCollection, { comment, signal }: Attempt
): Promise<object> {
  // A bigint is written as a BSON int64 (Long).
  const documents = plants.map(({ id: _id, name, tag }) => tag === undefined ? { _id, name } : { _id, name, tag })
  const insert = { insert: collectionName, documents, ordered: false, comment, ...DURABLE }
  return db.command(insert, { ...COMMAND_OPTIONS, signal })
}

/** The response that a server gives as the error of the command: a duplicate, and nothing of which one. */
function duplicatesOnly (plants: readonly NewPlant[]): object {
  return { n: 0, writeErrors: plants.map((_plant, index) => ({ index, code: DUPLICATE_KEY })) }
}

/** The servers and their errors, if the error tells only that it took too long to find one. */
function explained (error: DriverError, { signal }: Attempt, watch: ClientWatch): DriverError {
  const isUntold = signal.aborted || error.name === 'MongoTopologyClosedError'
  const found = isUntold ? watch.noServerFound() : undefined
  return found ?? error
}
