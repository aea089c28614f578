// Every promise of the stores, in a folder where the package is installed: `node --test contract-of-stores.js`.
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { memoryPlantStore, mongoPlantStore, sqlitePlantStore } from 'plant-store'
import { plantStoreContract } from 'plant-store/contract'

const { MONGODB_URL, DATA_DIR } = process.env

function sqlite () {
  const path = `${DATA_DIR}/${randomBytes(6).toString('hex')}.db`
  return { store: sqlitePlantStore({ path }), another: () => sqlitePlantStore({ path }) }
}

async function mongo () {
  const client = await new MongoClient(MONGODB_URL).connect()
  const db = client.db(`plant_store_test_${randomBytes(6).toString('hex')}`)
  const cleanup = async () => {
    await db.dropDatabase()
    await client.close()
  }
  return { store: mongoPlantStore({ db }), another: () => mongoPlantStore({ db }), cleanup }
}

const setups = { memory: () => ({ store: memoryPlantStore() }), sqlite, ...MONGODB_URL ? { mongo } : {} }
for (const [store, newSetup] of Object.entries(setups)) {
  for (const { name, check } of plantStoreContract) {
    test(`${store}: ${name}`, async t => {
      const skipped = await check(newSetup)
      if (skipped !== undefined) t.skip(skipped)
    })
  }
}
