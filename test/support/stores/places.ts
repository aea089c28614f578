import { join } from 'node:path'
import type { Test } from 'tap'
import { mongoPlantStore } from '../../../src/stores/mongo/mongo-plant-store.js'
import type { PlantStore } from '../../../src/stores/plant-store.js'
import { sqlitePlantStore } from '../../../src/stores/sqlite/sqlite-plant-store.js'
import { needs } from '../process/needs.js'
import { ScriptedMongo } from '../scripted-mongodb/scripted-mongo.js'
import { mongodb } from './mongodb-for-tests.js'
import { OwnDatabase } from './own-database.js'
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
  return {
    store: () => closedAfter(t, sqlitePlantStore({ path })),
    stored: async () => plantsInFile(path)
  }
}

/** The test's own database in a real MongoDB. */
export async function mongoPlace (t: Test): Promise<Place & { url: string }> {
  const { url: server, missing } = await mongodb()
  if (server === undefined) throw new Error(missing)
  const database = new OwnDatabase(server)
  t.teardown(() => database.drop())
  const { url } = database
  return { url, store: () => closedAfter(t, mongoPlantStore({ url })), stored: () => database.plants() }
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
export async function onBothStores (t: Test, suite: (t: Test, newPlace: NewPlace) => void): Promise<void> {
  t.test('on SQLite', async t => suite(t, sqlitePlace))
  const { missing } = await mongodb()
  t.test('on MongoDB', needs(missing), async t => suite(t, mongoPlace))
}

function closedAfter (t: Test, store: PlantStore): PlantStore {
  t.teardown(async () => { await store.close?.() })
  return store
}
