import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import t from 'tap'
import { PlantOutcomeUnknown } from '../../../src/plant-store.js'
import { batchedStore, notStored, numbers } from '../../support/stores/fake-writer.js'

/** How late a timer of the queue may be. */
const TICK = 5

t.test('create requests from one turn of the event loop share a write, and each gets its own outcome', async t => {
  const { clock, writer, outcomes, create, created, answered } = batchedStore()
  create([1], 3_000)
  create([2], 4_000)
  await created([3], 2_000)
  const now = clock.now()
  t.match(writer.batches, [{ ids: [1, 2, 3], at: now, deadline: now + 4_000, earliestDeadline: now + 2_000 }])
  await answered(['stored', 'same', 'taken'])
  t.strictSame([...outcomes], [[1, 'stored'], [2, 'same'], [3, 'taken']])
})

t.test('with one write at a time, requests that arrive during a write form the next one, after the responses', async t => {
  const { writer, outcomes, created, answered } = batchedStore()
  await created([1])
  for (const id of [2, 3, 4]) await created([id])
  let known: number[] = []
  writer.respond = () => {
    known = [...outcomes.keys()]
    return 'stored'
  }
  await answered('stored')
  t.strictSame(writer.ids, [[1], [2, 3, 4]])
  t.strictSame(known, [1])
})

t.test('while a large batch is in flight, requests wait for its end, at most a few milliseconds, then form one more', async t => {
  const { clock, writer, created } = batchedStore(4)
  for (const first of [1_000, 2_000]) {
    await created(numbers(100, first))
    await created([first + 200])
    await created([first + 300])
    t.equal(writer.batches.length, first / 500 - 1)
    writer.batches.at(-1)?.answer('stored')
    await clock.turns()
    t.strictSame(writer.ids.at(-1), [first + 200, first + 300])
    writer.batches.at(-1)?.answer('stored')
    await clock.turns()
  }
  await created(numbers(100))
  for (const id of [101, 102, 103, 104]) {
    await created([id])
    await clock.pass(TICK)
  }
  t.strictSame(writer.ids.slice(5), [[101], [102], [103]], 'as if each hangs, until no more may be in flight')
})

t.test('a batch has at most 1,000 plants, and 4,000,000 characters of names and tags; a longer plant is sent alone', async t => {
  const { clock, writer, store, create } = batchedStore()
  writer.respond = () => 'stored'
  create(numbers(2_500))
  await clock.turns()
  t.strictSame(writer.ids.map(({ length }) => length), [1_000, 1_000, 500])
  // Two such plants have exactly that many characters.
  const large = 'x'.repeat(1_999_997)
  const deadline = clock.now() + 1_000
  for (const id of [1n, 2n, 3n]) store.create({ id, name: large, tag: 'tag' }, deadline)
  create([4], 1_000, 'x'.repeat(5_000_000))
  for (const id of [5n, 6n]) store.create({ id, name: '', tag: large }, deadline)
  await clock.turns()
  t.strictSame(writer.ids.slice(3), [[1, 2], [3, 5], [4], [6]])
})

t.test('a plant that cannot be sent in time is rejected shortly before its deadline; one without time is not sent', async t => {
  const { clock, writer, outcomes, create, created, answered } = batchedStore()
  create([0], -1)
  await created([1])
  create([2], 500)
  create([3], 600)
  create([4], 3_000)
  await clock.pass(399)
  t.strictSame([...outcomes.keys()], [0])
  await clock.pass(TICK)
  t.strictSame([...outcomes.keys()], [0, 2])
  await clock.pass(100)
  t.strictSame([...outcomes.keys()], [0, 2, 3])
  for (const error of outcomes.values()) t.match(error, { name: 'PlantNotStored', message: /too busy/ })
  await answered('stored')
  t.strictSame(writer.ids, [[1], [4]])
})

t.test('a batch that fails as a whole is sent again as a whole, with what has come since, after a growing pause', async t => {
  for (const [random, shortest] of [[0, 0.5], [1, 1]] as const) {
    const { clock, writer, outcomes, created } = batchedStore(16, () => random)
    writer.respond = () => notStored()
    await created([1, 2], 10_000)
    await created([3], 10_000)
    await clock.pass(3_000)
    t.strictSame(writer.ids.slice(0, 3), [[1, 2], [1, 2, 3], [1, 2, 3]])
    for (const [index, pause] of [25, 50, 100, 200, 250, 250].entries()) {
      const waited = (writer.batches[index + 1]?.at ?? 0) - (writer.batches[index]?.at ?? 0)
      t.ok(waited >= pause * shortest && waited <= pause * shortest + TICK, `${waited} ms`)
    }
    writer.respond = () => 'stored'
    await clock.pass(250 + TICK)
    t.strictSame([...outcomes.values()], ['stored', 'stored', 'stored'])
  }
})

t.test('in an outage one probe at a time is sent, and all that is pending once it succeeds', async t => {
  const { clock, writer, outcomes, create, created } = batchedStore(16)
  for (let first = 0; first < 500; first += 100) {
    create(numbers(100, first), 60_000)
    await clock.pass(TICK)
  }
  t.equal(writer.batches.length, 5)
  for (const { answer } of writer.batches) answer(notStored())
  await clock.pass(25 + TICK)
  t.equal(writer.batches.length, 6, 'those that failed together count once')
  await created(numbers(1_500, 500), 60_000)
  await clock.pass(5_000)
  t.equal(writer.batches.length, 6, 'while the probe is in flight, nothing else is')
  writer.batches[5]?.answer(new PlantOutcomeUnknown('no response'))
  await clock.pass(50 + TICK)
  t.equal(writer.batches.length, 7)
  writer.respond = () => 'stored'
  writer.batches[6]?.answer('stored')
  await clock.turns()
  t.equal(outcomes.size, 2_000)
  t.strictSame(new Set(outcomes.values()), new Set(['stored']))
})

t.test('a batch that was in flight before an outage ends it, if it succeeds', async t => {
  const { clock, writer, created } = batchedStore(16)
  await created([1])
  await created([2])
  await clock.pass(TICK)
  writer.batches[1]?.answer(notStored())
  await clock.turns()
  writer.batches[0]?.answer('stored')
  await clock.turns()
  t.strictSame(writer.ids, [[1], [2], [2]])
})

t.test('a plant that fails by itself is sent again after a pause, and delays no other', async t => {
  const { clock, writer, outcomes, created } = batchedStore()
  writer.respond = ids => ids.map(id => id === 2 ? notStored('odd') : 'stored')
  await created([1, 2, 3])
  for (let id = 4; id < 104; id++) {
    await created([id])
    await clock.pass(10)
    t.equal(outcomes.get(id), 'stored')
  }
  const attempts = writer.ids.filter(ids => ids.includes(2)).length
  t.ok(attempts >= 6 && attempts <= 8, `${attempts} attempts in a second`)
  await clock.pass(4_000)
  t.match(outcomes.get(2), { name: 'PlantNotStored', message: 'odd' })
  t.equal(clock.timers, 0, 'an idle store has no timer')
})

t.test('a permanent failure, of a plant or of a whole batch, rejects at once, and holds up nothing', async t => {
  const { writer, outcomes, created } = batchedStore()
  writer.respond = ids => ids.includes(2) ? ids.map(id => id === 2 ? notStored('not valid', true) : 'stored') : notStored('disk full', true)
  await created([1, 2, 3])
  await created([4, 5])
  await created([6])
  t.match(Object.fromEntries(outcomes), {
    1: 'stored', 2: { message: 'not valid' }, 3: 'stored', 4: { message: 'disk full' }, 5: { message: 'disk full' }, 6: { message: 'disk full' }
  })
  t.equal(writer.batches.length, 3)
})

t.test('an uncertain outcome stays uncertain after later failures, even permanent ones, until one settles it', async t => {
  for (const permanent of [false, true]) {
    for (const whole of [false, true]) {
      const { clock, writer, outcomes, create } = batchedStore()
      writer.respond = (_ids, number) => {
        const result = number === 2 ? new PlantOutcomeUnknown('no response') : notStored('away', permanent && number > 2)
        return whole ? result : [result]
      }
      create([1], 1_000)
      await clock.pass(1_000)
      t.match(outcomes.get(1), { name: 'PlantOutcomeUnknown', message: 'no response' })
      if (permanent) t.equal(writer.batches.length, 3)
    }
  }
  const { clock, writer, outcomes, create } = batchedStore()
  writer.respond = (_ids, number) => number === 1 ? new PlantOutcomeUnknown('no response') : ['stored', 'same', 'taken']
  create([1, 2, 3])
  await clock.pass(400)
  t.strictSame([...outcomes.values()], ['stored', 'same', 'taken'])
})

t.test('a missing result leaves the outcome uncertain', async t => {
  const { clock, writer, outcomes, create } = batchedStore()
  writer.respond = () => ['stored']
  create([1, 2], 60)
  await clock.pass(60)
  t.match([...outcomes.values()], ['stored', PlantOutcomeUnknown])
})

t.test('thousands of plants that cannot be stored are rejected with the reason by their deadlines, after few writes', async t => {
  for (const whole of [false, true]) {
    const { clock, writer, outcomes, create } = batchedStore(16)
    writer.respond = ids => whole ? notStored('the disk is gone') : ids.map(() => notStored('the disk is gone'))
    create(numbers(2_500), 3_000)
    await clock.pass(3_000 - 50)
    t.equal(outcomes.size, 2_500)
    t.match(outcomes.get(1), { name: 'PlantNotStored', message: 'the disk is gone' })
    t.ok(writer.batches.length < 100, `${writer.batches.length} writes`)
    t.ok(writer.batches.every(({ at, deadline }) => deadline - at > 100), 'no late attempt makes an outcome uncertain')
  }
})

t.test('close waits for pending requests, in flight or not, and can be called twice; later ones are refused', async t => {
  const { clock, writer, store, outcomes, create, created, answered } = batchedStore()
  await created([1])
  create([2])
  let closed = false
  Promise.all([store.close(), store.close()]).then(() => { closed = true })
  await created([3])
  t.match(outcomes.get(3), { name: 'PlantNotStored', message: 'the store is closed' })
  await answered('stored')
  await clock.pass(100)
  t.notOk(closed)
  await answered('stored')
  await clock.pass(TICK)
  t.ok(closed)
  t.strictSame(writer.ids, [[1], [2]])
  t.strictSame([outcomes.get(1), outcomes.get(2)], ['stored', 'stored'])
  t.equal(clock.timers, 0)
})

t.test('close writes all pending plants once, even if each write fails', async t => {
  const { clock, writer, store, outcomes, create } = batchedStore()
  create(numbers(8_000))
  writer.respond = () => notStored()
  const closed = store.close()
  await clock.pass(1_000)
  await closed
  t.strictSame(writer.ids.map(({ length }) => length), Array(8).fill(1_000))
  t.equal(outcomes.size, 8_000)
})

t.test('close resolves even if no pending plant can be written in time', async t => {
  for (const timeoutMs of [-1, 60]) {
    const { clock, writer, store, outcomes, create } = batchedStore()
    create(numbers(3_000), timeoutMs)
    const closed = store.close()
    await clock.pass(70)
    writer.answer(notStored())
    await clock.pass(100)
    await closed
    t.equal(outcomes.size, 3_000)
    t.equal(writer.batches.length, timeoutMs < 0 ? 0 : 1)
  }
})

t.test('close gives up what has failed and what an outage holds back', async t => {
  for (const whole of [false, true]) {
    const { clock, writer, store, outcomes, created } = batchedStore()
    writer.respond = ids => whole ? notStored() : ids.map(id => id === 1 ? notStored() : 'stored')
    await created([1, 2])
    await created([3])
    writer.respond = undefined
    const closed = store.close()
    await clock.pass(0)
    await closed
    t.match(outcomes.get(1), { message: 'away' })
    t.match(outcomes.get(3), whole ? { name: 'PlantNotStored', message: /was closed/ } : 'stored')
  }
})

t.test('the diagnostics channels report the start and the completion of each batch', async t => {
  const observed: object[] = []
  const observe = (message: unknown, name: string | symbol) => { observed.push({ name, ...Object(message) }) }
  const names = ['plant-store:batch:start', 'plant-store:batch:end'] as const
  for (const name of names) {
    subscribe(name, observe)
    t.teardown(() => unsubscribe(name, observe))
  }
  const { clock, writer, create, answered } = batchedStore()
  create([1, 2])
  await clock.pass(7)
  writer.answer([notStored(), 'stored'])
  await clock.pass(25 + TICK)
  await answered(notStored())
  t.strictSame(observed, [
    { name: names[0], plants: 2, milliseconds: undefined, retries: 0 },
    { name: names[1], plants: 2, milliseconds: 7, retries: 1 },
    { name: names[0], plants: 1, milliseconds: undefined, retries: 0 },
    { name: names[1], plants: 1, milliseconds: TICK, retries: 1 }
  ])
})
