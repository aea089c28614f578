import t from 'tap'
import type { WriteResult } from '../../../src/stores/batching/store-writer.js'
import { PlantNotStored, PlantOutcomeUnknown } from '../../../src/plant-store.js'
import { batchedStore, notStored, numbers, type FakeWriter } from '../../support/stores/fake-writer.js'

/** The queue looks this often at what is pending. */
const TICK = 10

/** A store that fails each batch with one of these plants in it. */
const poisoned = (...poison: number[]) => (ids: readonly number[]): readonly WriteResult[] | WriteResult =>
  ids.some(id => poison.includes(id)) ? notStored('damaged') : ids.map(() => 'stored')

/** The pauses between batches, without the time until the next tick. */
function pausesOf ({ batches }: FakeWriter): number[] {
  const expected = [25, 50, 100, 200, 400, 800, 1_000]
  return batches.slice(1).map(({ at }, place) => {
    const pause = at - (batches[place]?.at ?? 0)
    return expected.find(ms => ms <= pause && pause <= ms + TICK) ?? pause
  })
}

t.test('each pause is twice as long as the one before, up to a second', async t => {
  for (const failure of [notStored(), [notStored()]]) {
    const { clock, writer, create } = batchedStore()
    writer.respond = () => failure
    create([1], 10_000)
    await clock.pass(4_000)
    t.strictSame(pausesOf(writer), [25, 50, 100, 200, 400, 800, 1_000, 1_000])
  }
})

t.test('each pause is shortened at random, down to half', async t => {
  for (const failure of [notStored(), [notStored()]]) {
    const { clock, writer, create } = batchedStore(1, () => 0)
    writer.respond = () => failure
    create([1], 10_000)
    await clock.pass(1_600)
    t.strictSame(pausesOf(writer).slice(1), [25, 50, 100, 200, 400, 500].slice(0, writer.batches.length - 2))
    t.ok(writer.batches.length >= 7)
  }
})

t.test('no pause is longer than half the time left until the deadline', async t => {
  for (const phase of numbers(5)) {
    const { clock, writer, outcomes, create } = batchedStore()
    writer.respond = () => notStored()
    for (let id = 1; id < 60 + 3 * phase; id++) {
      create([id], 400)
      await clock.pass(50)
    }
    writer.respond = () => 'stored'
    create([100], 400)
    await clock.pass(200 + TICK)
    t.equal(outcomes.get(100), 'stored')
  }
})

t.test('after a success the pauses start from 25 ms again', async t => {
  const { clock, writer, create } = batchedStore()
  writer.respond = (_ids, number) => [1, 2, 3, 5].includes(number) ? notStored() : 'stored'
  create([1])
  await clock.pass(1_000)
  create([2])
  await clock.pass(100)
  t.strictSame(pausesOf(writer).filter((_, place) => place !== 3), [25, 50, 100, 25])
})

t.test('a plant that fails on its own is sent again after a pause, without delaying the others', async t => {
  const { clock, writer, outcomes, created } = batchedStore()
  writer.respond = ids => ids.map(id => id === 2 ? notStored() : 'stored')
  await created([1, 2, 3])
  await created([4])
  t.strictSame([...outcomes], [[1, 'stored'], [3, 'stored'], [4, 'stored']])
  await clock.pass(24)
  t.strictSame(writer.ids, [[1, 2, 3], [4]])
  await clock.pass(1 + TICK)
  t.strictSame(writer.ids, [[1, 2, 3], [4], [2]])
  writer.respond = () => 'stored'
  await clock.pass(50 + TICK)
  t.equal(outcomes.get(2), 'stored')
})

t.test('plants of one batch that fail on their own are sent again together, each time after a longer pause', async t => {
  const { clock, writer, create, created } = batchedStore(1, Math.random)
  writer.respond = ids => ids.map(id => id < 3 ? notStored() : 'stored')
  create([1, 2, 3])
  for (let ms = 0; ms < 500; ms += 5) {
    await created([4])
    await clock.pass(5)
  }
  const again = writer.batches.filter(({ ids }) => ids.includes(1))
  t.strictSame(again.map(({ ids }) => ids.includes(2)), again.map(() => true))
  t.ok(again.length >= 5 && again.length <= 7, `${again.length} attempts in half a second, though others are stored`)
})

t.test('a plant that cannot have been stored rejects with PlantNotStored and the reason by its deadline', async t => {
  for (let timeoutMs = 400; timeoutMs < 500; timeoutMs += 7) {
    const { clock, writer, outcomes, create } = batchedStore()
    writer.respond = () => notStored('the disk is gone')
    create([1], timeoutMs)
    await clock.pass(timeoutMs - 150)
    t.equal(outcomes.size, 0)
    await clock.pass(100 + TICK)
    t.match(outcomes.get(1), { name: 'PlantNotStored', message: 'the disk is gone' })
    t.ok(writer.batches.length > 2, `after ${writer.batches.length} tries`)
    t.ok(writer.batches.every(({ at, deadline }) => deadline - at > 100), 'no late try makes its outcome uncertain')
  }
})

t.test('an uncertain outcome stays uncertain after later failures, also a permanent one', async t => {
  for (const permanent of [false, true]) {
    const { clock, writer, outcomes, create } = batchedStore()
    writer.respond = (_ids, number) => number === 2 ? new PlantOutcomeUnknown('no response') : notStored('away', permanent && number > 2)
    create([1], 400)
    await clock.pass(400)
    t.match(outcomes.get(1), { name: 'PlantOutcomeUnknown', message: 'no response' })
    if (permanent) t.equal(writer.batches.length, 3)
  }
})

t.test('an uncertain outcome is settled by a later success', async t => {
  const { clock, writer, outcomes, create } = batchedStore()
  writer.respond = (_ids, number) => number === 1 ? new PlantOutcomeUnknown('no response') : 'same'
  create([1, 2])
  await clock.pass(400)
  t.strictSame([...outcomes.values()], ['same', 'same'])
})

t.test('a missing result leaves the outcome uncertain', async t => {
  const { clock, writer, outcomes, create } = batchedStore()
  writer.respond = () => ['stored']
  create([1, 2], 60)
  await clock.pass(60)
  t.match([...outcomes.values()], ['stored', PlantOutcomeUnknown])
})

t.test('a plant or a batch with a permanent failure is not sent again, and holds up nothing', async t => {
  const { clock, writer, outcomes, created } = batchedStore()
  writer.respond = () => notStored('the disk is full', true)
  for (const id of numbers(10)) {
    await created([id])
    t.match(outcomes.get(id), { name: 'PlantNotStored', message: 'the disk is full', permanent: true })
  }
  writer.respond = () => [notStored('not authorized', true), 'stored']
  await created([11, 12])
  t.match([outcomes.get(11), outcomes.get(12)], [{ message: 'not authorized' }, 'stored'])
  await clock.pass(2_000)
  t.equal(writer.batches.length, 11)
})

t.test('if one plant makes its batch fail, all the others are soon stored', async t => {
  for (const poison of [1, 37, 64]) {
    const { clock, writer, outcomes, create } = batchedStore()
    writer.respond = poisoned(poison)
    create(numbers(64), 1_000)
    await clock.pass(300)
    t.strictSame([...outcomes.keys()].sort((a, b) => a - b), numbers(64).filter(id => id !== poison))
    t.strictSame(new Set(outcomes.values()), new Set(['stored']))
    t.ok(writer.batches.filter(({ ids }) => ids.length > 1).length <= 13, 'it was found by division')
    await clock.pass(700)
    t.match(outcomes.get(poison), { name: 'PlantNotStored', message: 'damaged' })
    t.ok(writer.batches.length < 22, 'and is then sent after growing pauses')
  }
})

t.test('under a steady load, plants that cannot be stored do not delay the others, even if clients send them again', async t => {
  for (const poison of [[1], numbers(20)]) {
    const { clock, writer, outcomes, create, created } = batchedStore()
    writer.respond = poisoned(...poison)
    let worst = 0
    for (let turn = 0; turn < 300; turn++) {
      if (turn % 100 === 0) create([...poison, ...numbers(20, 10_000)], 500)
      const since = clock.now()
      const id = 100 + turn
      await created([id])
      while (!outcomes.has(id)) await clock.pass(1)
      worst = Math.max(worst, clock.now() - since)
      await clock.pass(1)
    }
    t.ok(worst <= 60, `${worst} ms`)
    t.strictSame(numbers(300, 100).filter(id => outcomes.get(id) !== 'stored'), [])
    t.equal(outcomes.get(10_000), 'stored')
    await clock.pass(500)
    t.match(outcomes.get(1), { message: 'damaged' })
    t.ok(writer.batches.length < 300 * (1 + poison.length), `${writer.batches.length} writes`)
  }
})

t.test('while others are stored, the plants of a batch with a faulty one do not wait for a back-off', async t => {
  const { clock, writer, outcomes, create } = batchedStore()
  writer.respond = poisoned(10)
  create(numbers(20))
  for (let id = 100; id < 120; id++) {
    await clock.pass(1)
    create([id])
  }
  t.strictSame(numbers(20).filter(id => !outcomes.has(id)), [10])
})

t.test('if several plants cannot be stored, all others are', async t => {
  for (const poison of [[1, 2, 30, 64], numbers(32)]) {
    const { clock, writer, outcomes, create } = batchedStore(4)
    writer.respond = poisoned(...poison)
    create(numbers(64), 2_000)
    await clock.pass(1_500)
    t.strictSame(numbers(64).filter(id => outcomes.get(id) !== 'stored'), poison)
  }
})

t.test('during an outage a few batches at a time are sent as probes; after it, all plants are', async t => {
  const { clock, writer, outcomes, created } = batchedStore(16)
  writer.respond = () => notStored()
  for (let first = 0; first < 500; first += 100) await created(numbers(100, first))
  t.equal(writer.batches.length, 5, 'the first failure may be a plant\'s')
  await created(numbers(100, 500))
  t.equal(writer.batches.length, 5, 'others are held back')
  await clock.pass(3_000)
  t.ok(writer.batches.length < 50, `${writer.batches.length} batches in 3 s`)
  writer.respond = () => 'stored'
  const before = writer.batches.length
  await clock.pass(1_000 + TICK)
  t.strictSame(new Set(outcomes.values()), new Set(['stored']))
  t.equal(outcomes.size, 600)
  t.ok(writer.batches.length - before < 80, `${writer.batches.length - before} batches for 600 plants`)
})

t.test('all that waits is sent as soon as one probe succeeds', async t => {
  for (const failure of [notStored(), [notStored(), notStored()]]) {
    const { clock, writer, outcomes, create, created } = batchedStore()
    writer.respond = () => failure
    for (let id = 1; id <= 40; id += 2) {
      await created([id, id + 1])
      await clock.pass(100)
    }
    create([41])
    writer.respond = () => 'stored'
    while (outcomes.size === 0) await clock.pass(1)
    await clock.pass(1)
    t.ok(Array.isArray(failure) || outcomes.size === 41, 'unless they failed on their own')
    await clock.pass(1_000)
    t.equal(outcomes.size, 41)
  }
})

t.test('new plants are probes, too, while others cannot be stored', async t => {
  const { clock, writer, outcomes, create, created } = batchedStore()
  writer.respond = () => notStored()
  create(numbers(1_000))
  await clock.pass(1_000)
  writer.respond = ids => ids.includes(2_000) ? 'stored' : notStored()
  await created([2_000])
  await clock.pass(1_000 + TICK)
  t.equal(outcomes.get(2_000), 'stored')
})

t.test('a plant waiting for another attempt is rejected shortly before its deadline, and is not sent again', async t => {
  const { clock, writer, outcomes, create } = batchedStore()
  writer.respond = poisoned(1)
  create([1], 600)
  create([2])
  await clock.pass(550 + TICK)
  t.match(outcomes.get(1), PlantNotStored)
  const before = writer.batches.length
  await clock.pass(2_000)
  t.equal(writer.batches.length, before)
})

t.test('a plant whose last attempt fails with no time left rejects immediately, without waiting for a timer', async t => {
  for (const results of [notStored('away'), [notStored('away')]]) {
    const { clock, outcomes, create, answered } = batchedStore()
    create([1], 500)
    await clock.pass(450)
    await answered(results)
    t.match(outcomes.get(1), { message: 'away' })
  }
})
