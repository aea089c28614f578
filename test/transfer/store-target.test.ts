import t from 'tap'
import { PlantNotStored, PlantPerhapsStored, type CreateOutcome, type PlantStore } from '../../src/stores/plant-store.js'
import { Tally } from '../../src/transfer/tally.js'
import { storeTarget } from '../../src/transfer/targets/store-target.js'
import { TransferFault } from '../../src/transfer/transfer-fault.js'
import { until } from '../support/until.js'
import { manyPlants, pageOf } from './plants.js'

function setUp (store: PlantStore) {
  const lines: string[] = []
  const tally = new Tally(line => lines.push(line))
  const interruption = new AbortController()
  return { lines, tally, interruption, target: storeTarget(store, tally, interruption.signal) }
}

/** A store that accepts every plant except those with the given ids. */
function storeThatFails (failing: (id: bigint) => boolean, { ready = async () => {} } = {}): PlantStore {
  return {
    ready,
    create: async ({ id }): Promise<CreateOutcome> => {
      if (failing(id)) throw new PlantNotStored('it is too large')
      return 'stored'
    }
  }
}

t.test('a plant that the store does not accept is reported with its id, and the others are copied', async t => {
  const { target, tally, lines } = setUp(storeThatFails(id => id % 1_000n === 7n))
  for (let from = 0; from < 200_000; from += 1_000) await target.write(pageOf(manyPlants(1_000, from)))
  await target.finish()
  t.equal(tally.summary('copied'), 'copied 199800, already there 0, in conflict 0, invalid 200')
  t.equal(lines[0], 'id 7: the store does not accept it: it is too large')
  t.equal(lines.length, 100)
})

t.test('a failure of the last plant is also reported', async t => {
  const { target, tally } = setUp(storeThatFails(id => id === 9n))
  await target.write(pageOf(manyPlants(10)))
  await target.finish()
  t.equal(tally.summary('copied'), 'copied 9, already there 0, in conflict 0, invalid 1')
})

t.test('a store that fails for every plant, or is not ready at the end, is a temporary fault', async t => {
  const full = setUp(storeThatFails(id => id >= 500n))
  await t.rejects(full.target.write(pageOf(manyPlants(1_000))), new TransferFault('it is too large', { temporary: true }))
  t.equal(full.tally.copied, 500)
  const down = setUp(storeThatFails(id => id === 9n, { ready: async () => { throw new Error('it is down') } }))
  await down.target.write(pageOf(manyPlants(10)))
  await t.rejects(down.target.finish(), new TransferFault('it is down', { temporary: true }))
  t.equal(down.tally.notCopied, 0)
})

t.test('a fault of the program is not reported as a fault of the store', async t => {
  const { target } = setUp({ create: async () => { throw new RangeError('oops') } })
  await target.write(pageOf(manyPlants(1))).catch(() => {})
  await t.rejects(target.finish(), new RangeError('oops'))
})

t.test('a plant given up by an interruption is not reported as invalid, even if another is stored after it', async t => {
  const pending: ((outcome: CreateOutcome | PromiseLike<never>) => void)[] = []
  const { target, tally, lines, interruption } = setUp({
    create: () => new Promise(resolve => { pending.push(resolve) }),
    close: async () => {
      pending[0]?.(Promise.reject(new PlantNotStored('it was closed')))
      await new Promise(resolve => setImmediate(resolve))
      pending[1]?.('stored')
    }
  })
  await target.write(pageOf(manyPlants(2)))
  interruption.abort()
  await target.finish()
  t.equal(tally.summary('copied'), 'copied 1, already there 0, in conflict 0, invalid 0')
  t.strictSame(lines, [])
})

t.test('the number of pending plants is bounded, and after an interruption closing the store settles them', async t => {
  const pending: ((outcome: CreateOutcome | PromiseLike<never>) => void)[] = []
  const { target, tally, interruption } = setUp({
    create: () => new Promise(resolve => { pending.push(resolve) }),
    close: async () => pending.forEach((resolve, i) => resolve(i < 10 ? 'stored' : Promise.reject(new PlantPerhapsStored('it was closed'))))
  })
  const writing = (async () => {
    for (let from = 0; from < 20_000 && !interruption.signal.aborted; from += 1_000) {
      await target.write(pageOf(manyPlants(1_000, from)))
    }
  })()
  await until(() => pending.length >= 6_000)
  await new Promise(resolve => setTimeout(resolve, 100))
  t.equal(pending.length, 6_000)
  interruption.abort()
  await writing.catch(() => {})
  await target.finish()
  t.equal(tally.summary('copied'), 'copied 10, already there 0, in conflict 0, invalid 0')
})
