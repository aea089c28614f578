import { MongoClient, type Collection, type Db, type MongoClientOptions } from 'mongodb'
import { connectionFault } from './mongo-connection-fault.js'
import { MongoWriter, REPLIES, type PlantDocument } from './mongo-writer.js'
import { StoreUnusable, type CreateOutcome, type NewPlant, type PlantStore } from './plant-store.js'
import { SharedWrites } from './shared-writes.js'

/** Milliseconds. Without an end of its own, a ping whose connection closes under it would keep its place in the pool. */
const LONGEST_PING = 5_000

/** One of the four, from the most that the host has to the least. */
export type MongoPlantStoreOptions =
  | { collection: Collection<PlantDocument> | Collection }
  /** Plants go to its collection `plants`. */
  | { db: Db }
  /** Plants go to the database of its URL's path, else `plant_store`; a database named `test` has to be given as `db`. */
  | { client: MongoClient }
  /** As with `client`; the store opens and closes a client of its own. */
  | {
    url: string
    /** Milliseconds that a create has at most, from which the driver's limits follow; 10,000 by default. */
    storeTimeout?: number
  }

/**
 * Stores plants in MongoDB (4.4 or later; replica set, sharded cluster or single server), as documents
 * `{ _id: Long, name, tag? }`, written with `{ w: 'majority', j: true }`: a create is answered when it can no longer be
 * rolled back (https://www.mongodb.com/docs/manual/reference/write-concern/).
 *
 * A client that is handed in stays the host's: the store neither connects nor closes it, and its limits are the host's.
 * @throws {TypeError} where the options or the URL cannot be used; the message holds no credentials
 */
export function mongoPlantStore (options: MongoPlantStoreOptions): PlantStore {
  if ('collection' in options) return new MongoPlantStore(options.collection as Collection<PlantDocument>)
  if ('db' in options) return new MongoPlantStore(plantsOf(options.db))
  if ('client' in options) return new MongoPlantStore(plantsOf(databaseOf(options.client)))
  if (typeof options?.url !== 'string') throw new TypeError('mongoPlantStore: one of the options url, client, db and collection must be given')
  const client = connectionTo(options.url, options.storeTimeout ?? 10_000)
  return new MongoPlantStore(plantsOf(databaseOf(client)), client)
}

class MongoPlantStore implements PlantStore {
  readonly #plants: Collection<PlantDocument>
  /** Only where it is the store's own. */
  readonly #client: MongoClient | undefined
  readonly #writer: MongoWriter
  readonly #writes: SharedWrites
  #connection: Promise<unknown> | undefined
  #isOpen = false
  #wasClosed = false

  constructor (plants: Collection<PlantDocument>, client?: MongoClient) {
    this.#plants = plants
    this.#client = client
    this.#writer = new MongoWriter(plants, this.#connect)
    this.#writes = new SharedWrites(this.#writer)
  }

  /** Does not wait for a connection: a MongoDB that is away at the start is waited for by each create. */
  async open (): Promise<boolean> {
    if (this.#isOpen) return false
    if (this.#wasClosed) throw new StoreUnusable('the store was closed: make a new one')
    this.#isOpen = true
    return true
  }

  create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
    return this.#writes.create(plant, deadline)
  }

  async ready (): Promise<void> {
    if (this.#wasClosed) throw new Error('the store is closed')
    try {
      await this.#connect()
      await this.#plants.db.command({ ping: 1 }, { readPreference: 'primary', ...REPLIES, signal: AbortSignal.timeout(LONGEST_PING) })
    } catch (error) {
      throw new Error(connectionFault(error))
    }
  }

  /**
   * Connects, and joins the others that want to. The driver would do so itself, but only once: after a first connection
   * that failed, it says «Topology is closed» for ever.
   */
  readonly #connect = async (): Promise<void> => {
    this.#connection ??= this.#client?.connect()
    try {
      await this.#connection
    } catch (error) {
      this.#connection = undefined
      throw error
    }
  }

  async close (): Promise<void> {
    this.#isOpen = false
    this.#wasClosed = true
    await this.#writes.close()
    this.#writer.close()
    await this.#client?.close()
  }
}

export function plantsOf (db: Db): Collection<PlantDocument> {
  return db.collection<PlantDocument>('plants')
}

/** The driver calls a database that was not named `test`. */
export function databaseOf (client: MongoClient): Db {
  const { dbName } = client.options
  return client.db(dbName === 'test' ? 'plant_store' : dbName)
}

export function connectionTo (url: string, storeTimeout: number): MongoClient {
  const chosen = new Set([...url.matchAll(/[?&](\w+)=/g)].map(([, option]) => (option as string).toLowerCase()))
  // What the URL says goes first: in the driver, options would.
  const usual: MongoClientOptions = Object.fromEntries(Object.entries(driverLimits(storeTimeout))
    .filter(([option]) => !chosen.has(option.toLowerCase())))
  try {
    return new MongoClient(url, { ...usual, monitorCommands: true })
  } catch (error) {
    const { message } = error as Error
    // The driver's messages may quote the URL.
    throw new TypeError(/@/.test(message) ? 'the MongoDB URL cannot be read' : message)
  }
}

function driverLimits (storeTimeout: number): MongoClientOptions {
  return {
    appName: 'plant-store',
    // Several tries fit into a create's time. The store repeats what fails itself, and keeps what each try told.
    serverSelectionTimeoutMS: Math.ceil(storeTimeout / 5),
    connectTimeoutMS: Math.ceil(storeTimeout / 5),
    waitQueueTimeoutMS: Math.ceil(storeTimeout / 5),
    socketTimeoutMS: Math.ceil(storeTimeout / 2),
    retryWrites: false
  }
}
