import t from 'tap'
import type { WriteResult } from '../../../src/stores/batching/batch-writer.js'
import { PlantNotStored, PlantOutcomeUnknown } from '../../../src/stores/plant-store.js'
import { notStored, numbers, sharedWrites } from '../../support/stores/fake-writer.js'

/** A store that fails each batch with one of these plants in it. */
const poisoned = (...poison: number[]) => (ids: readonly number[]): readonly WriteResult[] | WriteResult =>
  ids.some(id => poison.includes(id)) ? notStored('damaged') : ids.map(() => 'stored')

t.test('each pause is twice as long as the one before, up to a second', async t => {
  const { clock, writer, create } = sharedWrites()
  writer.respond = () => notStored()
  create([1], 10_000)
  await clock.pass(4_000)
  const pauses = writer.batches.slice(1).map(({ at }, place) => at - (writer.batches[place]?.at ?? 0))
  t.strictSame(pauses, [25, 50, 100, 200, 400, 800, 1_000, 1_000])
})

t.test('no pause is longer than half the time left until the deadline', async t => {
  const { clock, writer, outcomes, create } = sharedWrites()
  writer.respond = () => notStored()
  for (let id = 1; id < 20; id++) {
    create([id], 800)
    await clock.pass(150)
  }
  writer.respond = () => 'stored'
  create([20], 800)
  await clock.pass(400)
  t.equal(outcomes.get(20), 'stored')
})

t.test('after a success the pauses start from 25 ms again', async t => {
  const { clock, writer, create } = sharedWrites()
  writer.respond = (_ids, number) => [1, 2, 3, 5].includes(number) ? notStored() : 'stored'
  create([1])
  await clock.pass(1_000)
  create([2])
  await clock.pass(26)
  t.equal((writer.batches[5]?.at ?? 0) - (writer.batches[4]?.at ?? 0), 25)
})

t.test('a plant that fails on its own is retried later, without delaying the others', async t => {
  const { clock, writer, outcomes, create } = sharedWrites()
  writer.respond = ids => ids.map(id => id === 2 ? notStored() : 'stored')
  create([1, 2, 3])
  await clock.pass(10)
  create([4])
  await clock.pass(0)
  t.strictSame([...outcomes], [[1, 'stored'], [3, 'stored'], [4, 'stored']])
  create([5])
  await clock.pass(15)
  t.strictSame(writer.ids, [[1, 2, 3], [4], [5], [2]])
  writer.respond = () => 'stored'
  await clock.pass(50)
  t.equal(outcomes.get(2), 'stored')
})

t.test('plants of one batch that fail on their own are retried together, each time after a longer pause', async t => {
  const { clock, writer, create } = sharedWrites()
  writer.respond = ids => ids.map(id => id < 3 ? notStored() : 'stored')
  create([1, 2, 3])
  await clock.pass(25)
  create([4])
  await clock.pass(49)
  t.strictSame(writer.ids, [[1, 2, 3], [1, 2], [4]])
  await clock.pass(1)
  t.strictSame(writer.ids.slice(3), [[1, 2]])
})

t.test('a plant that cannot have been stored rejects with PlantNotStored and the reason by its deadline', async t => {
  const { clock, writer, outcomes, create } = sharedWrites()
  writer.respond = () => notStored('the disk is gone')
  create([1], 400)
  await clock.pass(299)
  t.equal(outcomes.size, 0)
  await clock.pass(51)
  t.match(outcomes.get(1), { name: 'PlantNotStored', message: 'the disk is gone' })
  t.ok(writer.batches.length > 2, `after ${writer.batches.length} tries`)
  t.ok(writer.batches.every(({ at, deadline }) => deadline - at >= 100), 'no late try makes its outcome uncertain')
})

t.test('an uncertain outcome stays uncertain after later failures', async t => {
  const { clock, writer, outcomes, create } = sharedWrites()
  writer.respond = (_ids, number) => number === 2 ? new PlantOutcomeUnknown('no response') : notStored()
  create([1], 400)
  await clock.pass(400)
  t.match(outcomes.get(1), { name: 'PlantOutcomeUnknown', message: 'no response' })
})

t.test('an uncertain outcome is settled by a later success', async t => {
  const { clock, writer, outcomes, create } = sharedWrites()
  writer.respond = (_ids, number) => number === 1 ? new PlantOutcomeUnknown('no response') : 'same'
  create([1, 2])
  await clock.pass(400)
  t.strictSame([...outcomes.values()], ['same', 'same'])
})

t.test('a missing result leaves the outcome uncertain', async t => {
  const { clock, writer, outcomes, create } = sharedWrites()
  writer.respond = () => ['stored']
  create([1, 2], 60)
  await clock.pass(60)
  t.match([...outcomes.values()], ['stored', PlantOutcomeUnknown])
})

t.test('a plant or a batch with a permanent failure is not retried', async t => {
  const { clock, writer, outcomes, created } = sharedWrites()
  writer.respond = () => notStored('the disk is full', true)
  await created([1, 2])
  for (const id of [1, 2]) t.match(outcomes.get(id), { name: 'PlantNotStored', message: 'the disk is full', permanent: true })
  writer.respond = () => [notStored('not authorized', true), 'stored']
  await created([3, 4])
  t.match([outcomes.get(3), outcomes.get(4)], [{ message: 'not authorized' }, 'stored'])
  await clock.pass(2_000)
  t.equal(writer.batches.length, 2)
})

t.test('a permanent failure after an uncertain outcome leaves it uncertain', async t => {
  const { clock, writer, outcomes, create } = sharedWrites()
  writer.respond = (_ids, number) => number === 1 ? new PlantOutcomeUnknown('no response') : notStored('not authorized', true)
  create([1])
  await clock.pass(100)
  t.match(outcomes.get(1), { name: 'PlantOutcomeUnknown' })
  t.equal(writer.batches.length, 2)
})

t.test('if one plant makes its batch fail, all the others are soon stored', async t => {
  for (const poison of [1, 37, 64]) {
    const { clock, writer, outcomes, create } = sharedWrites()
    writer.respond = poisoned(poison)
    create(numbers(64), 1_000)
    await clock.pass(600)
    t.strictSame([...outcomes.keys()].sort((a, b) => a - b), numbers(64).filter(id => id !== poison))
    t.strictSame(new Set(outcomes.values()), new Set(['stored']))
    t.ok(writer.batches.filter(({ ids }) => ids.length > 1).length <= 13, 'it was found by halving')
    await clock.pass(400)
    t.match(outcomes.get(poison), { name: 'PlantNotStored', message: 'damaged' })
  }
})

t.test('under a steady load, one plant that cannot be stored does not delay the others', async t => {
  const { clock, writer, outcomes, create, created } = sharedWrites()
  writer.respond = poisoned(10)
  create(numbers(20), 1_000)
  for (let id = 100; id < 200; id += 10) {
    await clock.pass(2)
    await created(numbers(10, id))
    t.equal(outcomes.get(id), 'stored')
  }
  await clock.pass(100)
  t.strictSame(numbers(20).filter(id => outcomes.get(id) !== 'stored'), [10])
})

t.test('if several plants cannot be stored, all others are', async t => {
  const { clock, writer, outcomes, create } = sharedWrites(4)
  const poison = [1, 2, 30, 64]
  writer.respond = poisoned(...poison)
  create(numbers(64), 2_000)
  await clock.pass(1_500)
  t.strictSame(numbers(64).filter(id => outcomes.get(id) !== 'stored'), poison)
})

t.test('a plant that cannot be stored is sent alone from then on, even when a client retries it', async t => {
  const { clock, writer, outcomes, create, created } = sharedWrites()
  writer.respond = poisoned(3)
  create([1, 2, 3, 4], 500)
  await clock.pass(500)
  t.match(outcomes.get(3), { message: 'damaged' })
  const before = writer.batches.length
  await created([3, 5, 6, 7])
  t.strictSame(new Set(writer.ids.slice(before)), new Set([[3], [5, 6, 7]]))
  writer.respond = () => 'stored'
  await clock.pass(30)
  t.equal(outcomes.get(3), 'stored')
  await created([3, 8])
  t.strictSame(writer.ids.at(-1), [3, 8], 'once stored, it is no longer sent alone')
})

t.test('the number of remembered ids is limited', async t => {
  const { clock, writer, create, created } = sharedWrites()
  writer.respond = ids => ids.includes(0) ? 'stored' : notStored()
  for (const id of numbers(1_001)) {
    await created([id], 200)
    create([0])
    await clock.pass(2)
  }
  await clock.pass(1_000)
  const before = writer.batches.length
  writer.respond = () => 'stored'
  await created([1, 2, 2_000])
  t.strictSame(new Set(writer.ids.slice(before)), new Set([[2], [1, 2_000]]))
})

t.test('during an outage a few batches at a time are sent as probes; after it, all plants are', async t => {
  const { clock, writer, outcomes, created } = sharedWrites(16)
  writer.respond = () => notStored()
  for (let first = 0; first < 500; first += 100) {
    await created(numbers(100, first))
  }
  await clock.pass(3_000)
  t.ok(writer.batches.length < 50, `${writer.batches.length} batches in 3 s`)
  writer.respond = () => 'stored'
  const before = writer.batches.length
  await clock.pass(1_000)
  t.strictSame(new Set(outcomes.values()), new Set(['stored']))
  t.equal(outcomes.size, 500)
  t.ok(writer.batches.length - before < 80, `${writer.batches.length - before} batches for 500 plants`)
})

t.test('during an outage new plants are held back from the second failure until a probe succeeds', async t => {
  const { clock, writer, outcomes, create, created } = sharedWrites()
  writer.respond = () => notStored()
  await created([1])
  await created([2])
  t.strictSame(writer.ids, [[1], [2]], 'one failure alone may have been the plant\'s')
  await created([3])
  create([4])
  await clock.pass(24)
  t.equal(writer.batches.length, 2)
  writer.respond = () => 'stored'
  await clock.pass(1)
  t.strictSame(writer.ids.slice(2), [[1], [3, 4], [2]])
  t.strictSame([...outcomes.values()], Array(4).fill('stored'))
})

t.test('new plants are also held back if plants fail one by one and none is stored', async t => {
  const { writer, created } = sharedWrites()
  writer.respond = ids => ids.map(() => notStored())
  await created([1, 2])
  await created([3])
  await created([4])
  t.strictSame(writer.ids, [[1, 2], [3]])
})

t.test('plants that can never be stored leave half of the writer to others', async t => {
  const { clock, writer, outcomes, created, answered } = sharedWrites(4)
  writer.respond = ids => ids.includes(100) ? 'stored' : notStored()
  for (const id of numbers(6)) {
    await created([id])
    await created([100])
  }
  writer.respond = undefined
  const before = writer.batches.length
  await clock.pass(1_000)
  t.equal(writer.batches.length - before, 2, 'half of what may be in flight')
  await created([7])
  t.strictSame(writer.ids.at(-1), [7])
  await answered('stored')
  t.equal(outcomes.get(7), 'stored')
})

t.test('a plant waiting for a retry is rejected shortly before its deadline, and is not sent again', async t => {
  const { clock, writer, outcomes, create } = sharedWrites()
  writer.respond = poisoned(1)
  create([1], 600)
  create([2])
  await clock.pass(550)
  t.match(outcomes.get(1), PlantNotStored)
  const before = writer.batches.length
  await clock.pass(2_000)
  t.equal(writer.batches.length, before)
})

t.test('a create request whose last attempt fails with no time left rejects immediately, without waiting for a timer', async t => {
  for (const results of [notStored('away'), [notStored('away')]]) {
    const { clock, outcomes, create, answered } = sharedWrites()
    create([1], 500)
    await clock.pass(450)
    await answered(results)
    t.match(outcomes.get(1), { message: 'away' })
  }
})
