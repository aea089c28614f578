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

type Given = { collection: MongoCollection, db: MongoDatabase, client: MongoDriverClient } &
  { url: string, storeTimeout: number }

/**
 * Stores plants in MongoDB (5.0 or later; replica set, sharded cluster or single server), as documents `{ _id: Long,
 * name, tag? }`, written with `{ w: 'majority', j: true }`: a plant is acknowledged when its write can no longer be
 * rolled back (https://www.mongodb.com/docs/manual/reference/write-concern/).
 *
 * A client that is passed in remains the host's: the store neither connects nor closes it, and its timeouts apply.
 * @throws {TypeError} if the options or the URL are invalid; the message contains no credentials
 */
export function mongoPlantStore (options: MongoPlantStoreOptions): PlantStore {
  const { collection, db, client, url, storeTimeout = 10_000 }: Partial<Given> = options ?? {}
  const plants = collection ?? (db ?? (client && databaseOf(client)))?.collection('plants')
  if (plants !== undefined) return new BatchedPlantStore(new MongoWriter(plants))
  if (typeof url !== 'string') throw new TypeError('mongoPlantStore: one of the options url, client, db and collection must be given')
  const connect = () => databaseOf<MongoDatabase>(connectionTo(url, storeTimeout), url).collection('plants')
  return new BatchedPlantStore(new MongoWriter(connect(), connect))
}
