import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { createPlants } from '../../src/commands/import-and-migrate.js'
import { CopyError, type Entry } from '../../src/commands/sources/plant-source.js'
import { showProgress, Tally } from '../../src/commands/run-copy.js'
import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant, type PlantStore } from '../../src/stores/plant-store.js'
import { until } from '../support/until.js'
import { manyPlants, pagesOf } from './plants.js'

function setUp (store: PlantStore) {
  const lines: string[] = []
  const tally = new Tally(line => lines.push(line))
  const interruption = new AbortController()
  const copyPages = (pages: AsyncIterable<Entry[]>) => createPlants(store, pages, tally, interruption.signal)
  return { lines, tally, interruption, copyPages, copy: (plants: NewPlant[]) => copyPages(pagesOf(plants, 100)) }
}

/** A store that accepts every plant except those with the given ids. */
function storeThatFails (failing: (id: bigint) => boolean, reason: Error = new PlantNotStored('it is too large')): PlantStore {
  return { create: async ({ id }) => failing(id) ? Promise.reject(reason) : 'stored' }
}

t.test('a plant that a ready store does not accept is named by its id, and the others are copied', async t => {
  const { copy, tally, lines } = setUp({ ...storeThatFails(id => id % 40n < 3n), ready: async () => {} })
  await copy(manyPlants(2_000))
  t.match(tally, { copied: 1_850, alreadyThere: 0, inConflict: 0, invalid: 150 })
  t.equal(lines[0], 'id 0: it was not stored: it is too large')
  t.equal(lines.length, 100)
})

t.test('a store that is not ready after a failure is at fault, not the plants', async t => {
  const { copy, tally, lines } = setUp({ ...storeThatFails(id => id >= 50n), ready: async () => { throw new Error('the disk is full') } })
  await t.rejects(copy(manyPlants(2_000)), new CopyError('the disk is full'))
  t.match(tally, { copied: 50, invalid: 0 })
  t.strictSame(lines, [])
})

t.test('an unknown outcome is reported as such, and a fault of the program as itself', async t => {
  const { copy, lines } = setUp(storeThatFails(() => true, new PlantOutcomeUnknown('no response in time')))
  await copy(manyPlants(1))
  t.strictSame(lines, ['id 0: it may have been stored: no response in time'])
  await t.rejects(setUp(storeThatFails(() => true, new RangeError('oops'))).copy(manyPlants(1)), new RangeError('oops'))
})

t.test('if the source fails, the plants read before are still counted', async t => {
  const { tally, copyPages } = setUp({ create: () => new Promise(resolve => setImmediate(resolve, 'stored')) })
  async function * failing (pages: AsyncGenerator<Entry[]>) {
    yield * pages
    throw new CopyError('it cannot be read')
  }
  await t.rejects(copyPages(failing(pagesOf(manyPlants(3)))), new CopyError('it cannot be read'))
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
  const copying = copy(manyPlants(2_000))
  await until(() => pending.length >= 500)
  for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve))
  t.ok(pending.length <= 600)
  interruption.abort()
  await t.rejects(copying)
  t.match(tally, { copied: 10, invalid: 0 })
  t.strictSame(lines, [])
})

/** Shows progress on a stream; returns what was written, which `take` empties. */
function show (t: Test, { isTTY = false, columns = 80 } = {}) {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  let text = ''
  const output = { isTTY, columns, write: (more: string) => { text += more; return true } }
  const progress = showProgress({ name: 'export', quiet: false }, 'a store', output, () => '50 %, 1,500,000 plants')
  const take = () => {
    const taken = text
    text = ''
    return taken
  }
  t.equal(take(), isTTY ? '\rexport: a store\x1b[K\n' : 'export: a store\n')
  return { ...progress, take }
}

for (const columns of [200, 80, 20, 5, 0]) {
  t.test(`on a terminal of ${columns} columns the line fits, and leaves the last column free`, async t => {
    const { take } = show(t, { isTTY: true, columns })
    mock.timers.tick(100)
    t.equal(take(), `\r${'export: 50 %, 1,500,000 plants'.slice(0, (columns || 80) - 1)}\x1b[K`)
  })
}

t.test('on a terminal progress is redrawn ten times a second until it ends, and other lines are printed above it', async t => {
  const { line, end, take } = show(t, { isTTY: true })
  mock.timers.tick(1_000)
  t.equal(take().split('\r').length - 1, 10)
  line('line 7: bad')
  t.equal(take(), '\rline 7: bad\x1b[K\n')
  end()
  t.equal(take(), '\rexport: 50 %, 1,500,000 plants\x1b[K\n')
  mock.timers.tick(1_000)
  t.equal(take(), '')
})

t.test('to a pipe a line is written every five seconds, and one at the end', async t => {
  const { line, end, take } = show(t)
  mock.timers.tick(11_000)
  line('id 7: bad')
  end()
  t.match(take(), /^(export: 50 %.*\n){2}id 7: bad\n(export: 50 %.*\n)$/)
})
