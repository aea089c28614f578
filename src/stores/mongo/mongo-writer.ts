import { randomUUID } from 'node:crypto'
import { systemClock, type Clock } from '../../clock.js'
import { RESPONSE_MARGIN_MS, type CreateError, type StoreWriter, type WriteResult } from '../batching/store-writer.js'
import { PlantOutcomeUnknown, type NewPlant } from '../plant-store.js'
import { EVENTS, type DriverEvent, type MongoCollection } from './mongo-driver.js'
import { describe, faultOf, serversOf, type DriverError } from './mongo-errors.js'
import {
  commandFailure, DUPLICATE_KEY, duplicateOutcome, idOf, OF_THE_STORE, writeFailure, type ExistingDocument,
  type WriteError
} from './mongo-outcomes.js'

// Parts of replies: https://www.mongodb.com/docs/manual/reference/command/insert/#output, and …/connectionStatus/
interface InsertReply { writeErrors?: WriteError[], writeConcernError?: { code: number, codeName?: string } }
interface Privilege { actions: string[], resource: { collection?: string } }
interface ConnectionStatus { authInfo?: { authenticatedUserPrivileges?: Privilege[] } }

/**
 * How commands run, whatever the client's own options are. Integers are decoded as numbers if they are exact, otherwise
 * as Long: with `useBigInt64` the driver's monitor would throw an uncaught error on a topology version.
 */
const OPTIONS = { readPreference: 'primary', raw: false, promoteValues: true, promoteLongs: true, useBigInt64: false } as const
const DURABLE = { writeConcern: { w: 'majority', j: true } }
/** Otherwise a check whose connection closes would keep its place in the pool. */
const CHECK_TIMEOUT_MS = 5_000
/** What is left to a batch in flight when connections of the client are lost, or cannot be made. */
const LOST_CONNECTION_MS = 1_000
/** A monitor reports a server that it does not reach within the timeout of a connection, and this. */
const MONITOR_MARGIN_MS = 1_000
/** What servers answer to an insert without documents: BadValue, FailedToParse, InvalidLength, EmptyArrayOperation. */
const NOTHING_TO_INSERT = [2, 9, 16, 21]

/**
 * Writes batches of plants with the `insert` command (unordered, majority, journal), and decides the outcome of each
 * plant by the evidence:
 *
 * - no error for this plant, in a response without a write concern error: stored;
 * - a duplicate key: the existing plant is read with majority read concern, and compared;
 * - an error code that leaves nothing open: refused for good;
 * - no `insert` of the batch left this process: not stored, unless MongoDB did not respond;
 * - anything else, such as a lost response or a write concern error: unknown.
 *
 * The driver's `insertMany` does not return the server's response.
 */
export class MongoWriter implements StoreWriter {
  readonly maxInFlight = 16
  #plants: MongoCollection
  /** The batches in flight by their comments. If the client does not monitor commands, each counts as sent. */
  readonly #attempts = new Map<unknown, { readonly limit: AbortController, isSent: boolean }>()
  #hasConnected = false
  /** Why no server was found, if none was since the last response. */
  #notFound: DriverError | undefined

  /** @param renew makes another client, if the client is the store's own, which the store closes */
  constructor (
    plants: MongoCollection, private readonly renew?: () => MongoCollection, private readonly clock: Clock = systemClock
  ) {
    this.#plants = plants
    for (const event of EVENTS) plants.db.client.on(event, this.#onEvent)
  }

  /** Resolves if the primary responds and, if the check is thorough, takes writes. */
  async check (thoroughly: boolean): Promise<void> {
    const plants = this.#plants
    const options = { ...OPTIONS, signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) }
    try {
      await (thoroughly ? this.#tryWriting(plants, options) : plants.db.command({ ping: 1 }, options))
      this.#notFound = undefined
    } catch (error) {
      throw new Error(faultOf(this.#explain(error as DriverError, plants)))
    }
  }

  async close (): Promise<void> {
    const { client } = this.#plants.db
    for (const event of EVENTS) client.off(event, this.#onEvent)
    if (this.renew !== undefined) await client.close()
  }

  async write (plants: readonly NewPlant[], deadline: number): Promise<readonly WriteResult[] | CreateError> {
    const collection = this.#plants
    const { monitorCommands, socketTimeoutMS } = collection.db.client.options
    const comment = `plant-store ${randomUUID()}`
    // The driver's own timeouts are not enough: a command whose connection closes while it is being written never
    // settles, and keeps its place in the pool. Aborting it frees both.
    const limit = new AbortController()
    const attempt = { limit, isSent: !monitorCommands }
    this.#attempts.set(comment, attempt)
    // Slightly more than the driver's, if it has one.
    const timeout = Math.min(socketTimeoutMS * 1.2 || Infinity, deadline - this.clock.now() - RESPONSE_MARGIN_MS)
    const timer = this.clock.setTimeout(() => limit.abort(new Error('no response in time')), timeout)
    try {
      // A bigint is written as a BSON int64 (Long).
      const documents = plants.map(({ id: _id, name, tag }) => tag === undefined ? { _id, name } : { _id, name, tag })
      const insert = { insert: collection.collectionName, documents, ordered: false, comment, ...DURABLE }
      const reply = await collection.db.command(insert, { ...OPTIONS, signal: limit.signal })
      this.#notFound = undefined
      return await this.#judge(plants, reply, limit.signal)
    } catch (error) {
      const { name, code, result } = error as DriverError
      // The driver throws a response with a write concern error; the error contains the result of each plant.
      if (name === 'MongoWriteConcernError' && result !== undefined) return await this.#judge(plants, result, limit.signal)
      if (code === DUPLICATE_KEY) {
        return await this.#judge(plants, { writeErrors: plants.map((_, index) => ({ index, code })) }, limit.signal)
      }
      const fault = attempt.isSent ? error as DriverError : this.#explain(error as DriverError, collection)
      return commandFailure(fault, !attempt.isSent)
    } finally {
      this.clock.clearTimeout(timer)
      this.#attempts.delete(comment)
    }
  }

  /**
   * Replaces a client of the store's own that looks for no server any more: one that never connected is closed, and a
   * monitor that wrote its `hello` to a connection just when that closed waits forever (7.9).
   * @returns why no server was found, also if this attempt was too short to tell
   */
  #explain (error: DriverError, plants: MongoCollection): DriverError {
    // The driver closes the topology of a client that could not connect, even after the command was aborted.
    if (/^Mongo(?:ServerSelection|TopologyClosed)Error$/.test(error.name)) {
      this.#notFound = error
      const oldest = this.clock.now() - (plants.db.client.options.connectTimeoutMS || Infinity) - MONITOR_MARGIN_MS
      const isForgotten = serversOf(error)?.some(server => server.type === 'Unknown' && server.lastUpdateTime < oldest)
      if (this.renew !== undefined && plants === this.#plants && (isForgotten || !this.#hasConnected)) {
        this.close().catch(() => {})
        this.#hasConnected = false
        this.#plants = this.renew()
        for (const event of EVENTS) this.#plants.db.client.on(event, this.#onEvent)
      }
    }
    return /^Mongo(?:Server|Network|WaitQueue|PoolCleared)/.test(error.name) ? error : this.#notFound ?? error
  }

  /**
   * Does what a write needs, but changes nothing: an insert of no documents, since other servers store a document that
   * MongoDB refuses; and an update of none, since MongoDB refuses an empty insert before it looks at the rights.
   */
  async #tryWriting ({ db, collectionName }: MongoCollection, options: object): Promise<void> {
    await db.command({ insert: collectionName, documents: [], ...DURABLE }, options).catch(error => {
      if (!NOTHING_TO_INSERT.includes(error.code)) throw error
    })
    const updates = [{ q: { _id: `plant-store ${randomUUID()}` }, u: { $set: { name: '' } } }]
    const update = { update: collectionName, updates, ...DURABLE }
    const { writeErrors: [error] = [] }: InsertReply = await db.command(update, options).catch(async error => {
      // A role may have the right to insert, and not that to update.
      const ask = { connectionStatus: 1, showPrivileges: true }
      const status: ConnectionStatus = error.code === 13 ? await db.command(ask, options).catch(() => ({})) : {}
      const mayInsert = status.authInfo?.authenticatedUserPrivileges?.some(({ actions, resource }) => (
        actions.includes('insert') && (resource.collection || collectionName) === collectionName
      ))
      if (mayInsert !== true) throw error
      return {}
    })
    if (error !== undefined) throw Object.assign(new Error(), error, { name: 'MongoServerError' })
  }

  readonly #onEvent = ({ command, reason, error }: DriverEvent): void => {
    if (command !== undefined) {
      this.#hasConnected = true
      const attempt = this.#attempts.get(command.comment)
      if (attempt !== undefined) attempt.isSent = true
    } else if (reason === undefined || error != null) {
      // The driver never settles a command that was written just when its connection closed, nor says that it closed.
      const sent = [...this.#attempts.values()].filter(({ isSent }) => isSent)
      const abort = (): void => sent.forEach(({ limit }) => limit.abort(new Error('the connection was lost')))
      this.clock.setTimeout(abort, LOST_CONNECTION_MS).unref()
    }
  }

  async #judge (
    plants: readonly NewPlant[], { writeErrors = [], writeConcernError }: InsertReply, signal: AbortSignal
  ): Promise<readonly WriteResult[] | CreateError> {
    const ofStore = writeErrors.filter(({ code }) => OF_THE_STORE.has(code))
    if (ofStore[0] !== undefined && ofStore.length === plants.length) return writeFailure(ofStore[0])
    const unknown = writeConcernError && new PlantOutcomeUnknown(`MongoDB: write concern ${describe(writeConcernError)}`)
    const results: WriteResult[] = plants.map(() => unknown ?? 'stored')
    for (const error of writeErrors) results[error.index] = writeFailure(error)
    const duplicates = writeErrors.filter(({ code }) => code === DUPLICATE_KEY)
    if (duplicates.length === 0) return results
    // Compared with the plants that the majority has under these ids.
    const filter = { _id: { $in: duplicates.map(({ index }) => plants[index]?.id) } }
    const existing = await this.#plants.find(filter, { ...OPTIONS, readConcern: 'majority', signal }).toArray().then(
      documents => new Map((documents as ExistingDocument[]).map(document => [idOf(document), document])),
      error => new PlantOutcomeUnknown(`MongoDB: a plant with this id exists, but could not be read: ${faultOf(error)}`)
    )
    for (const { index, keyPattern: key } of duplicates) {
      results[index] = existing instanceof Map ? duplicateOutcome(plants[index] as NewPlant, existing, key) : existing
    }
    return results
  }
}
