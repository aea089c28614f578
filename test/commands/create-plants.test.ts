import t from 'tap'
import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant, type PlantStore } from '../../src/plant-store.js'
import { createPlants } from '../../src/commands/import.js'
import { Tally } from '../../src/commands/copy.js'
import { TransferFault } from '../../src/commands/sources/plant-source.js'
import { until } from '../support/until.js'
import { manyPlants, pagesOf } from './plants.js'

function setUp (store: PlantStore) {
  const lines: string[] = []
  const tally = new Tally(line => lines.push(line))
  const interruption = new AbortController()
  const copy = async (plants: NewPlant[]) => createPlants(pagesOf(plants, 1_000), store, tally, interruption.signal)
  return { lines, tally, interruption, copy }
}

/** A store that accepts every plant except those with the given ids. */
function storeThatFails (failing: (id: bigint) => boolean): PlantStore {
  return {
    create: async ({ id }): Promise<CreateOutcome> => {
      if (failing(id)) throw new PlantNotStored('it is too large')
      return 'stored'
    }
  }
}

t.test('a plant that the store does not accept is named by its id, and the others are copied', async t => {
  const { copy, tally, lines } = setUp(storeThatFails(id => id % 1_000n === 7n))
  await copy(manyPlants(200_000))
  t.match(tally, { copied: 199_800, alreadyThere: 0, inConflict: 0, invalid: 200 })
  t.equal(lines[0], 'id 7: it was not stored: it is too large')
  t.equal(lines.length, 100)
})

t.test('a failure of the last plant is also reported', async t => {
  const { copy, tally, lines } = setUp(storeThatFails(id => id === 9n))
  await copy(manyPlants(10))
  t.match(tally, { copied: 9, invalid: 1 })
  t.strictSame(lines, ['id 9: it was not stored: it is too large'])
})

t.test('a store that fails for every plant, or is not ready at the end, is at fault, not the plants', async t => {
  const failing = setUp(storeThatFails(id => id >= 500n))
  await t.rejects(failing.copy(manyPlants(20_000)), new TransferFault('it is too large: run it again to continue'))
  t.match(failing.tally, { copied: 500, invalid: 0 })
  t.strictSame(failing.lines, [])
  const unready = setUp({ ...storeThatFails(id => id === 9n), ready: async () => { throw new Error('it is down') } })
  await t.rejects(unready.copy(manyPlants(10)), new TransferFault('it is down: run it again to continue'))
  t.match(unready.tally, { copied: 9, invalid: 0 })
  t.strictSame(unready.lines, [])
})

t.test('a plant whose outcome is unknown is reported as such', async t => {
  const { copy, lines } = setUp({ create: async () => { throw new PlantOutcomeUnknown('no response in time') } })
  await copy(manyPlants(1))
  t.strictSame(lines, ['id 0: it may have been stored: no response in time'])
})

t.test('a fault of the program is not reported as a fault of the store', async t => {
  const { copy } = setUp({ create: async () => { throw new RangeError('oops') } })
  await t.rejects(copy(manyPlants(1)), new RangeError('oops'))
})

t.test('if the source fails, the plants read before are still counted', async t => {
  const { tally, interruption } = setUp(storeThatFails(() => false))
  async function * pages () {
    yield * pagesOf(manyPlants(3))
    throw new TransferFault('it cannot be read')
  }
  const store: PlantStore = { create: () => new Promise(resolve => setImmediate(resolve, 'stored')) }
  await t.rejects(createPlants(pages(), store, tally, interruption.signal), new TransferFault('it cannot be read'))
  t.equal(tally.copied, 3)
})

t.test('the number of pending plants is bounded; closing the store settles them after an interruption, and none is invalid', async t => {
  const pending: ((outcome: CreateOutcome | PromiseLike<never>) => void)[] = []
  const { copy, tally, lines, interruption } = setUp({
    create: () => new Promise(resolve => { pending.push(resolve) }),
    async close () {
      pending[0]?.(Promise.reject(new PlantNotStored('it was closed')))
      await new Promise(resolve => setImmediate(resolve))
      pending.forEach((resolve, i) => resolve(i <= 10 ? 'stored' : Promise.reject(new PlantOutcomeUnknown('it was closed'))))
    }
  })
  const copying = copy(manyPlants(20_000))
  await until(() => pending.length >= 5_000)
  for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve))
  t.ok(pending.length <= 6_000)
  interruption.abort()
  await t.rejects(copying)
  t.match(tally, { copied: 10, invalid: 0 })
  t.strictSame(lines, [])
})
