import t from 'tap'
import type { CreateOutcome } from '../../../src/index.js'
import { withCompiler } from '../../support/process/failing-calls.js'
import { runPowered } from '../../support/process/power-cut.js'
import { sqlitePlace, storeContract } from '../../support/stores/places.js'

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

/** The plants acknowledged before the log that contains them was synced. */
function acknowledgedTooEarly (trace: readonly string[]): string[] {
  const written = new Set<string>()
  const synced = new Set<string>()
  const early: string[] = []
  for (const line of trace) {
    const [what, file, ...plants] = line.split(' ')
    if (what === 'write' && file === 'plants.db-wal') for (const plant of plants) written.add(plant)
    if (what === 'sync' && file === 'plants.db-wal') for (const plant of written) synced.add(plant)
    if (what === 'answer') early.push(...plants.filter(plant => !synced.has(plant)))
  }
  return early
}

t.test('each 200 is sent after the log that contains the plant was synced', withCompiler, async t => {
  const { clients, trace } = await runPowered(t, {}, 1_500)
  const answers = trace.filter(line => line.startsWith('answer'))
  t.ok(answers.length > 20, `${answers.length} answers`)
  t.strictSame(Object.keys(clients.counts), ['200'])
  t.strictSame(acknowledgedTooEarly(trace), [])
  const unsynced = trace.filter(line => line !== 'sync plants.db-wal')
  t.ok(acknowledgedTooEarly(unsynced).length > 20, 'the same trace without syncs fails the check')
})
