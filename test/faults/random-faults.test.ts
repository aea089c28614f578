import t from 'tap'
import { mongoPlantStore } from '../../src/stores/mongo-plant-store.js'
import { sqlitePlantStore } from '../../src/stores/sqlite-plant-store.js'
import { playRandomSequences, STORE_TIMEOUT } from './random-faults.js'

t.test('in random sequences of creates and faults, no store contradicts the model', async t => {
  // Another seed each time: a failure tells it.
  const seed = Date.now() % 1_000_000_000
  const played = await playRandomSequences({
    sequences: 120,
    lanes: 8,
    seed,
    sqliteShare: 20,
    stores: { mongo: url => mongoPlantStore({ url, storeTimeout: STORE_TIMEOUT }), sqlite: path => sqlitePlantStore({ path }) },
    tell: () => {}
  })
  t.equal(played, 120, `seed ${seed}`)
})
