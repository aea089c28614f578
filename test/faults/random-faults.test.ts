import t from 'tap'
import { mongoPlantStore } from '../../src/stores/mongo-plant-store.js'
import { compiledProgram } from '../operations/compiled-program.js'
import { playRandomSequences, STORE_TIMEOUT } from './random-faults.js'

t.test('in random sequences of creates and faults, no store contradicts the model', async t => {
  // Another seed each time: a failure tells it.
  const seed = Date.now() % 1_000_000_000
  // Compiled, as many threads are started.
  const { sqlitePlantStore } = await import(new URL('../index.js', `file://${compiledProgram()}`).href) as typeof import('../../src/index.js')
  const played = await playRandomSequences({
    sequences: 150,
    lanes: 12,
    seed,
    sqliteShare: 20,
    stores: { mongo: url => mongoPlantStore({ url, storeTimeout: STORE_TIMEOUT }), sqlite: path => sqlitePlantStore({ path }) },
    tell: () => {}
  })
  t.equal(played, 150, `seed ${seed}`)
})
