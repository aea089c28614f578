import t from 'tap'
import type { CreateOutcome } from '../../../src/index.js'
import { sqlitePlace, storeContract } from '../../support/stores/places.js'

t.jobs = 2
t.test('the SQLite store fulfills the PlantStore contract', { jobs: 2 }, async t => storeContract(t, sqlitePlace))

t.test('stores that write to one file concurrently take turns', async t => {
  const place = await sqlitePlace(t)
  const stores = [place.store(), place.store()]
  for (const store of stores) await store.open?.()
  const outcomes: CreateOutcome[][] = [[], []]
  let id = 0n
  await Promise.all(stores.map(async (store, i) => {
    while (id < 1_000n) outcomes[i]?.push(await store.create({ id: ++id, name: 'Ficus' }, performance.now() + 10_000))
  }))
  t.strictSame(new Set(outcomes.flat()), new Set(['stored']))
  t.equal((await place.stored()).size, outcomes.flat().length)
  for (const { length } of outcomes) t.ok(length > 50, `${length} of 1,000`)
})
