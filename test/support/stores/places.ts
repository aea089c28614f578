import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import { plantStoreContract } from '../../../src/stores/contract.js'
import { mongoPlantStore } from '../../../src/stores/mongo/mongo-plant-store.js'
import type { PlantStore } from '../../../src/stores/store.js'
import { sqlitePlantStore } from '../../../src/stores/sqlite/sqlite-plant-store.js'
import { needs } from '../process/needs.js'
import { ScriptedMongo } from '../scripted-mongodb/scripted-mongo.js'
import { urlOfDatabase } from './database-url.js'
import { mongodb } from './mongodb-for-tests.js'
import { plantsInFile } from './sqlite-file.js'

/** Storage for the plants of one test: empty at first, and removed after the test. */
export interface Place {
  /** Creates a store on this storage. It is not open yet, and is closed after the test. */
  store: () => PlantStore
  /** The stored plants as another program would read them: complete rows or documents by id. */
  stored: () => Promise<Map<bigint, Record<string, unknown>>>
}

export type NewPlace = (t: Test) => Promise<Place>

/** A database file in the test's own folder. */
export async function sqlitePlace (t: Test): Promise<Place> {
  const path = join(t.testdir(), 'data', 'plants.db')
  return { store: () => closedAfter(t, sqlitePlantStore({ path })), stored: async () => plantsInFile(path) }
}

/** The test's own database, with a random name, in a real MongoDB. No other database is modified. */
export async function mongoPlace (t: Test): Promise<Place & { url: string }> {
  const { url: server, missing } = await mongodb()
  if (server === undefined) throw new Error(missing)
  const url = urlOfDatabase(server, `plant_store_test_${randomBytes(6).toString('hex')}`)
  const client = new MongoClient(url)
  t.teardown(async () => {
    await client.db().dropDatabase()
    await client.close()
  })
  return {
    url,
    // On a slow machine a batch may take longer than the driver would wait by default, which is half of this.
    store: () => closedAfter(t, mongoPlantStore({ url, storeTimeout: 60_000 })),
    async stored () {
      const documents = await client.db().collection('plants').find({}, { useBigInt64: true }).toArray()
      return new Map(documents.map(({ _id, ...plant }) => [BigInt(String(_id)), plant]))
    }
  }
}

/** The test's own scripted MongoDB, which is always available. */
export async function scriptedPlace (t: Test): Promise<Place & { url: string }> {
  const mongo = await ScriptedMongo.start(t)
  const { url } = mongo
  return {
    url,
    store: () => closedAfter(t, mongoPlantStore({ url })),
    stored: async () => new Map([...mongo.majority()].map(([id, plant]) => [id, { ...plant }]))
  }
}

/** Runs a suite on both stores, on MongoDB only if it is available. */
export function onBothStores (t: Test, suite: (t: Test, newPlace: NewPlace) => void): void {
  t.test('on SQLite', async t => suite(t, sqlitePlace))
  t.test('on MongoDB', async t => {
    // Within the test, since a file ends when no test is left, even if a server is still starting.
    const { missing } = await mongodb()
    t.test('that is available', needs(missing), async t => suite(t, mongoPlace))
  })
}

/** Runs every check of the `PlantStore` contract on one kind of store. */
export function storeContract (t: Test, newPlace: NewPlace): void {
  for (const { name, check } of plantStoreContract) {
    t.test(name, async t => {
      const skipped = await check(async () => {
        const { store, stored } = await newPlace(t)
        return { store: store(), another: store, stored }
      })
      t.equal(skipped, undefined, 'nothing was skipped')
    })
  }
}

function closedAfter (t: Test, store: PlantStore): PlantStore {
  t.teardown(async () => { await store.close?.() })
  return store
}
