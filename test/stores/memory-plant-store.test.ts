import t from 'tap'
import { memoryPlantStore } from '../../src/index.js'
import { plantStoreContract } from '../../src/stores/contract.js'

t.test('the memory store fulfills the PlantStore contract, except for durability', async t => {
  for (const { name, check } of plantStoreContract) {
    t.test(name, async t => {
      const store = memoryPlantStore()
      const stored = () => new Map([...store.plants.values()].map(({ id, ...plant }) => [id, plant]))
      t.equal(await check(() => ({ store, stored })), undefined, 'nothing was skipped')
    })
  }
})
