import { BatchedPlantStore } from '../batching/batched-plant-store.js'
import type { PlantStore } from '../store.js'
import {
  connectionTo, databaseOf, type MongoCollection, type MongoDatabase, type MongoDriverClient
} from './mongo-driver.js'
import { MongoWriter } from './mongo-writer.js'

/** One of the four options: a `Collection`, `Db` or `MongoClient` of any driver 7, or a URL. */
export type MongoPlantStoreOptions =
  | { collection: MongoCollection }
  /** Plants go to its collection `plants`. */
  | { db: MongoDatabase }
  /** Plants go to the database in its URL's path (not `test`), else to `plant_store`. */
  | { client: MongoDriverClient }
  /** As with `client`, for a client of the store's own, whose timeouts follow from `storeTimeout` (10,000 ms). */
  | { url: string, storeTimeout?: number }

type Given = Partial<
  { collection: MongoCollection, db: MongoDatabase, client: MongoDriverClient, url: string, storeTimeout: number }
>

/**
 * Stores plants in MongoDB (5.0 or later; replica set, sharded cluster or single server), as documents `{ _id: Long,
 * name, tag? }`, written with `{ w: 'majority', j: true }`: a plant is acknowledged when its write can no longer be
 * rolled back (https://www.mongodb.com/docs/manual/reference/write-concern/).
 *
 * A client that is passed in remains the host's: the store neither connects nor closes it, and its timeouts apply.
 * @throws {TypeError} that names the option that is wrong; the message contains no credentials
 */
export function mongoPlantStore (options: MongoPlantStoreOptions): PlantStore {
  checkOptions(options)
  const { collection, db, client, url = '', storeTimeout = 10_000 }: Given = options
  const plants = collection ?? (db ?? (client && databaseOf(client)))?.collection('plants')
  if (plants !== undefined) return new BatchedPlantStore(new MongoWriter(plants))
  const connect = () => databaseOf<MongoDatabase>(connectionTo(url, storeTimeout), url).collection('plants')
  return new BatchedPlantStore(new MongoWriter(connectFirst(connect), connect))
}

/** Makes the first client, which shows whether the URL can be used. */
function connectFirst (connect: () => MongoCollection): MongoCollection {
  try {
    return connect()
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause
    throw new TypeError(`mongoPlantStore: the option url cannot be used: ${cause.message}`, { cause })
  }
}

const isFunction = (value: unknown) => typeof value === 'function'

/** Whether a value can be the option of this name, and what it must be. */
const kinds: Readonly<Record<string, { is: (value: any) => boolean, kind: string }>> = {
  url: { is: value => typeof value === 'string', kind: 'a string, such as mongodb://127.0.0.1:27017/garden' },
  client: { is: value => isFunction(value?.db), kind: 'a MongoClient' },
  db: { is: value => isFunction(value?.command) && isFunction(value.collection), kind: 'a Db' },
  collection: { is: value => isFunction(value?.find) && isFunction(value.db?.command), kind: 'a Collection' },
  storeTimeout: { is: value => Number.isInteger(value) && value >= 500, kind: 'an integer of 500 or more' }
}

function checkOptions (options: unknown): void {
  const isObject = typeof options === 'object' && options !== null
  const given = isObject ? Object.entries(options).filter(([, value]) => value !== undefined) : []
  for (const [name, value] of given) {
    const option = kinds[name]
    if (option === undefined) throw new TypeError(`mongoPlantStore: there is no option ${name}`)
    if (option.is(value)) continue
    const isPromise = isFunction(value?.then)
    throw new TypeError(`mongoPlantStore: the option ${name} must be ${option.kind}${isPromise ? ', not a promise of one: await it' : ''}`)
  }
  const places = given.filter(([name]) => name !== 'storeTimeout')
  if (places.length !== 1) {
    throw new TypeError('mongoPlantStore: one of the options url, client, db and collection must be given')
  }
}
