import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import t from 'tap'
import { PlantNotStored } from '../../../src/plant-store.js'
import { notStored, numbers, batchedStore } from '../../support/stores/fake-writer.js'

t.test('create requests from one turn of the event loop share a write, and each gets its own outcome', async t => {
  const { writer, outcomes, created, answered } = batchedStore()
  await created([1, 2, 3])
  t.strictSame(writer.ids, [[1, 2, 3]])
  await answered(['stored', 'same', 'taken'])
  t.strictSame([...outcomes], [[1, 'stored'], [2, 'same'], [3, 'taken']])
})

t.test('with one write at a time, requests that arrive during a write form the next one', async t => {
  const { writer, outcomes, created, answered } = batchedStore()
  await created([1])
  await created([2, 3, 4, 5])
  t.strictSame(writer.ids, [[1]], 'the others wait')
  await answered('stored')
  t.strictSame(writer.ids, [[1], [2, 3, 4, 5]])
  await answered('stored')
  t.strictSame([...outcomes.values()], Array(5).fill('stored'))
})

t.test('all requests of a batch have their outcomes before the next batch is written', async t => {
  const { writer, outcomes, created, answered } = batchedStore()
  await created([1, 2])
  await created([3, 4])
  let known: number[] = []
  writer.respond = () => {
    known = [...outcomes.keys()]
    return 'stored'
  }
  await answered('stored')
  t.strictSame(writer.ids, [[1, 2], [3, 4]])
  t.strictSame(known, [1, 2])
})

t.test('while a large batch is in flight, few requests wait, many are sent, and the number of batches in flight is limited', async t => {
  const { clock, writer, created } = batchedStore(2)
  await created(numbers(100))
  await created(numbers(20))
  t.strictSame(writer.sizes, [100], 'a few wait')
  await created(numbers(30))
  t.strictSame(writer.sizes, [100, 50], 'half as many as were outstanding are sent')
  await created(numbers(400))
  t.strictSame(writer.sizes, [100, 50], 'a third batch has to wait')
  writer.batches[0]?.answer('stored')
  await clock.turns()
  t.strictSame(writer.sizes, [100, 50, 400])
})

t.test('a batch that hangs delays later requests by 0.1 s at most', async t => {
  const { clock, writer, created } = batchedStore(16)
  await created(numbers(100))
  await created([201])
  await clock.pass(99)
  t.equal(writer.batches.length, 1, 'it waits for the batch')
  await clock.pass(1)
  t.strictSame(writer.ids.at(-1), [201])
  await clock.pass(60)
  await created([202])
  await clock.pass(100)
  t.strictSame(writer.ids.at(-1), [202])
})

t.test('a batch that hangs delays later requests no longer while plants that cannot be stored are sent alone', async t => {
  const { clock, writer, create, created } = batchedStore(16)
  writer.respond = ids => ids.includes(1) ? notStored() : 'stored'
  await created([1])
  await created([2])
  await clock.pass(1_000)
  writer.respond = undefined
  await created(numbers(100, 101))
  writer.respond = () => notStored()
  create([3])
  for (let ms = 0; ms < 100; ms += 20) {
    create([1], 200)
    await clock.pass(20)
  }
  t.ok(writer.ids.some(ids => ids.includes(3)))
})

t.test('a settled request no longer counts as outstanding', async t => {
  const { writer, created, answered } = batchedStore(2)
  await created(numbers(100))
  await answered('stored')
  await created(numbers(20))
  await created(numbers(60))
  t.strictSame(writer.sizes, [100, 20, 60])
})

t.test('with nothing in flight, requests are gathered as long as each turn brings more, up to half of the last peak', async t => {
  const { clock, writer, create, created, answered } = batchedStore()
  const turn = () => clock.step()
  await created(numbers(10))
  await answered('stored')
  for (const id of [11, 12, 13]) {
    create([id])
    turn()
    t.equal(writer.batches.length, 1, `${id} waits for another turn`)
  }
  turn()
  t.strictSame(writer.ids[1], [11, 12, 13], 'a turn without new requests sends the batch')
  await answered('stored')
  create([14, 15, 16, 17])
  turn()
  create([18])
  turn()
  t.strictSame(writer.ids[2], [14, 15, 16, 17, 18], 'half of the peak is enough')
  await answered('stored')
  create([19])
  turn()
  t.equal(writer.batches.length, 3, '19 waits again')
})

t.test('requests to a distant store are split into several batches until no more may be in flight', async t => {
  for (const [milliseconds, sizes] of [[1, [1, 1, 400]], [20, [1, 1, 128, 128, 128, 416]]] as const) {
    const { clock, writer, create, created, answered } = batchedStore(4)
    create([0])
    await clock.pass(milliseconds)
    await answered('stored')
    await created([0])
    await answered(notStored('fails at once', true))
    await created(numbers(400))
    if (milliseconds > 1) await created(numbers(400))
    t.strictSame(writer.sizes, sizes, 'the last batch allowed takes all pending plants')
  }
})

t.test('a store that writes one batch at a time gets all pending plants in one batch, even if it is distant', async t => {
  const { clock, writer, create, answered } = batchedStore(1)
  for (let turn = 0; turn < 2; turn++) {
    create(numbers(400))
    await clock.pass(20)
    await answered('stored')
  }
  t.strictSame(writer.sizes, [400, 400])
})

t.test('the deadline of a batch is the latest deadline of its plants', async t => {
  const { clock, writer, create } = batchedStore()
  create([1], 2_000)
  create([2], 4_000)
  create([3], 3_000)
  const now = clock.now()
  await clock.turns()
  t.strictSame(writer.batches.map(({ deadline }) => deadline - now), [4_000])
})

t.test('a batch has at most 1,000 plants', async t => {
  const { writer, created } = batchedStore()
  writer.respond = () => 'stored'
  await created(numbers(2_500))
  t.strictSame(writer.sizes, [1_000, 1_000, 500])
})

t.test('a batch has at most 4,000,000 characters of names and tags; a longer plant is sent alone', async t => {
  const { clock, writer, store, create } = batchedStore()
  writer.respond = () => 'stored'
  // Two such plants have exactly that many characters.
  const large = 'x'.repeat(1_999_997)
  const deadline = clock.now() + 1_000
  for (const id of [1n, 2n, 3n]) store.create({ id, name: large, tag: 'tag' }, deadline)
  create([4], 1_000, 'x'.repeat(5_000_000))
  for (const id of [5n, 6n]) store.create({ id, name: '', tag: large }, deadline)
  await clock.turns()
  t.strictSame(writer.ids, [[1, 2], [3, 5], [4], [6]])
})

t.test('a request still pending shortly before its deadline is rejected without being sent', async t => {
  const { clock, writer, outcomes, create, created, answered } = batchedStore()
  await created([1])
  create([3], 600)
  create([2], 500)
  create([4], 605)
  create([5], 3_000)
  await clock.pass(449)
  t.equal(outcomes.size, 0)
  await clock.pass(1)
  t.strictSame([...outcomes.keys()], [2])
  await clock.pass(100)
  t.strictSame([...outcomes.keys()], [2, 3], 'each is rejected before its deadline')
  await clock.pass(15)
  t.strictSame([...outcomes.keys()], [2, 3, 4])
  for (const error of outcomes.values()) t.match(error, { name: 'PlantNotStored', message: /too busy/ })
  await answered('stored')
  t.strictSame(writer.ids, [[1], [5]])
})

t.test('a request past its deadline is not sent', async t => {
  const { writer, outcomes, create, created } = batchedStore()
  create([1], -1)
  await created([2])
  t.strictSame(writer.ids, [[2]])
  t.match(outcomes.get(1), { name: 'PlantNotStored', message: /too busy/ })
})

t.test('an idle store does not keep the process alive', async t => {
  const { clock, created, answered } = batchedStore()
  await created([1])
  await answered('stored')
  t.equal(clock.timers, 0)
})

t.test('close resolves immediately if nothing is in flight, and can be called twice', async t => {
  const { clock, store } = batchedStore()
  await t.resolves(store.close())
  await t.resolves(store.close())
  t.equal(clock.next, undefined, 'no timer is left')
})

t.test('close waits for pending requests, in flight or not, and later ones are refused', async t => {
  const { writer, store, outcomes, create, created, answered } = batchedStore()
  await created([1])
  create([2])
  let closed = false
  Promise.all([store.close(), store.close()]).then(() => { closed = true })
  await created([3])
  t.strictSame([...outcomes.keys()], [3])
  t.match(outcomes.get(3), { name: 'PlantNotStored', message: 'the store is closed' })
  await answered('stored')
  t.equal(outcomes.get(1), 'stored')
  t.notOk(closed)
  await answered('stored')
  t.equal(outcomes.get(2), 'stored')
  t.ok(closed)
  t.strictSame(writer.ids, [[1], [2]])
})

t.test('a plant that fails during close is not sent again', async t => {
  const { clock, writer, store, outcomes, created, answered } = batchedStore()
  await created([1, 2])
  const closed = store.close()
  await answered(notStored())
  await closed
  t.match([...outcomes.values()], [{ message: 'away' }, { message: 'away' }])
  t.equal(writer.batches.length, 1)
  t.equal(clock.next, undefined)
})

t.test('close rejects all requests waiting for another attempt', async t => {
  const { clock, writer, store, outcomes, created, answered } = batchedStore()
  writer.respond = ids => ids.includes(1) ? notStored('together') : ids.map(() => notStored('by itself'))
  await created([1, 3])
  await created([2])
  writer.respond = undefined
  await created([4])
  const closed = store.close()
  await clock.turns()
  t.match(Object.fromEntries(outcomes), { 1: { message: 'together' }, 2: { message: 'by itself' }, 3: { message: 'together' } })
  await answered('stored')
  await closed
  t.equal(outcomes.get(4), 'stored')
  await clock.pass(2_000)
  t.equal(writer.batches.length, 3)
})

t.test('close rejects the requests held back while the store is failing', async t => {
  const { clock, writer, store, outcomes, created } = batchedStore()
  writer.respond = () => notStored()
  for (const id of numbers(6)) await created([id])
  t.strictSame(writer.ids, [[1], [2], [3], [4], [5]])
  await store.close()
  await clock.turns()
  t.match([...outcomes.values()], Array(6).fill(PlantNotStored))
  t.match(outcomes.get(6), { message: 'the store was closed before it could be sent' })
  t.equal(writer.batches.length, 5)
})

t.test('close writes all pending plants once, even if each write fails', async t => {
  const { clock, writer, store, outcomes, create } = batchedStore()
  create(numbers(8_000))
  writer.respond = () => notStored()
  const closed = store.close()
  await clock.pass(1_000)
  await closed
  t.strictSame(writer.sizes, Array(8).fill(1_000))
  t.equal(outcomes.size, 8_000)
})

t.test('close resolves even if no pending plant can be written in time', async t => {
  for (const timeoutMs of [-1, 60]) {
    const { clock, writer, store, outcomes, create } = batchedStore()
    create(numbers(8_000), timeoutMs)
    writer.respond = () => notStored()
    const closed = store.close()
    await clock.pass(1_000)
    await closed
    t.equal(outcomes.size, 8_000)
    t.match(outcomes.get(8_000), { message: /too busy/ })
    if (timeoutMs < 0) t.equal(writer.batches.length, 0)
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
  await clock.pass(30)
  await answered(notStored())
  t.strictSame(observed, [
    { name: names[0], plants: 2, milliseconds: undefined, retries: 0 },
    { name: names[1], plants: 2, milliseconds: 7, retries: 1 },
    { name: names[0], plants: 1, milliseconds: undefined, retries: 0 },
    { name: names[1], plants: 1, milliseconds: 0, retries: 1 }
  ])
  unsubscribe(names[1], observe)
  create([3])
  await clock.turns()
  t.match(observed.slice(4), [{ name: names[0], plants: 1 }], 'each channel is independent of the other')
})
