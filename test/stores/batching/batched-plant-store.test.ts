import t from 'tap'
import { BatchSizer } from '../../../src/stores/batching/batch-sizer.js'
import { BatchedPlantStore } from '../../../src/stores/batching/batched-plant-store.js'
import { PlantNotStored, PlantOutcomeUnknown } from '../../../src/plant-store.js'
import { batchedStore, notStored } from '../../support/stores/fake-writer.js'

function checkedStore () {
  const fakes = batchedStore()
  const { clock, create } = fakes
  return {
    ...fakes,
    /** Creates a plant whose deadline allows one attempt only. */
    async create (id: number): Promise<void> {
      create([id], 60)
      await clock.pass(60)
    }
  }
}

t.test('a store whose last write failed is not ready, with that write\'s error, until another write succeeds', async t => {
  for (const failure of [notStored('no room'), notStored('no room', true), new PlantOutcomeUnknown('no room'), [new PlantOutcomeUnknown('no room')]]) {
    const { store, writer, create } = checkedStore()
    await t.resolves(store.ready())
    writer.respond = () => failure
    await create(1)
    await t.rejects(store.ready(), { message: 'no room' })
    writer.respond = () => 'same'
    await create(2)
    await t.resolves(store.ready())
    t.strictSame(writer.checks, [false, false])
  }
})

t.test('a second after a failed write a thorough check decides, as no writes reach a service that is not ready', async t => {
  const { store, writer, clock, create } = checkedStore()
  writer.respond = () => notStored('no room', true)
  await create(1)
  await clock.pass(930)
  await t.rejects(store.ready(), { message: 'no room' })
  t.strictSame(writer.checks, [])
  await clock.pass(10)
  writer.fault = new Error('still no room')
  await t.rejects(store.ready(), { message: 'still no room' })
  await t.rejects(store.ready(), { message: 'still no room' })
  writer.fault = undefined
  await t.resolves(store.ready())
  await t.resolves(store.ready())
  t.strictSame(writer.checks, [true, true, true, false])
})

t.test('a write that fails during a check is reported by the next check', async t => {
  const { store, writer, clock, create } = checkedStore()
  writer.respond = () => notStored('first')
  await create(1)
  await clock.pass(1_000)
  let pass = (): void => {}
  writer.check = () => new Promise(resolve => { pass = resolve })
  const ready = store.ready()
  writer.respond = () => notStored('second')
  await create(2)
  pass()
  await t.resolves(ready)
  await t.rejects(store.ready(), { message: 'second' })
})

t.test('a refused plant, or one that fails while others are stored, is not a fault of the store', async t => {
  const { store, writer, create } = checkedStore()
  writer.respond = () => [new PlantNotStored('not valid', { permanent: true })]
  await create(1)
  await t.resolves(store.ready())
  writer.respond = () => [notStored('odd'), 'stored']
  store.create({ id: 2n, name: 'Ficus' }, 0).catch(() => {})
  await create(3)
  await t.resolves(store.ready())
})

t.test('a store that is closed while it opens stays closed, even if opening fails', async t => {
  let fail = (_error: Error): void => {}
  const { writer } = checkedStore()
  const opening = Object.assign(writer, { open: () => new Promise<void>((_resolve, reject) => { fail = reject }) })
  const store = new BatchedPlantStore(opening)
  const opened = store.open()
  await store.close()
  fail(new Error('no'))
  await t.rejects(opened, { message: 'no' })
  await t.rejects(store.ready(), { message: 'the store is closed' })
})

/** A sizer after a given number of outstanding requests and one batch of a given duration. */
function seen (outstanding: number, milliseconds: number): BatchSizer {
  const sizer = new BatchSizer()
  sizer.sent(outstanding, 0)
  sizer.written(milliseconds)
  return sizer
}

t.test('half of the outstanding requests are worth a batch', async t => {
  t.equal(new BatchSizer().worthSending, 0.5, 'a single request is sent immediately')
  t.equal(seen(64, 1).worthSending, 32)
  t.equal(seen(400, 1).worthSending, 200)
})

t.test('the more distant the store, the smaller the batches, as long as they are efficient', async t => {
  t.equal(seen(900, 3).worthSending, 300)
  t.equal(seen(900, 10).worthSending, 90)
  t.equal(seen(900, 100).worthSending, 64)
  t.equal(seen(100, 100).worthSending, 50, 'half of the outstanding requests are enough')
})

t.test('the fastest recent batch gives the distance, and is forgotten slowly', async t => {
  const sizer = seen(900, 3)
  sizer.written(50)
  t.ok(sizer.worthSending < 300 && sizer.worthSending > 280)
  for (let i = 0; i < 300; i++) sizer.written(10)
  t.equal(sizer.worthSending, 90)
})

t.test('a peak falls to half in a quarter of a second, however many batches are sent', async t => {
  const sizer = seen(100, 1)
  for (let now = 0; now <= 250; now++) sizer.sent(10, now)
  t.equal(Math.round(sizer.worthSending), 25)
  sizer.sent(10, 10_000)
  t.equal(sizer.worthSending, 5)
})

t.test('a full batch is always worth sending', async t => {
  t.equal(seen(5_000, 1).worthSending, 1_000)
})
