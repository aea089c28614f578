import t from 'tap'
import { BatchedPlantStore } from '../../../src/stores/batching/batched-plant-store.js'
import { PlantNotStored, PlantOutcomeUnknown } from '../../../src/plant-store.js'
import { batchedStore, notStored } from '../../support/stores/fake-writer.js'

/** A store that is ready, and whose plants have time for one attempt only. */
async function readyStore () {
  const fakes = batchedStore()
  const { clock, store, writer, create } = fakes
  await store.ready()
  writer.checks.splice(0)
  return {
    ...fakes,
    async create (...ids: number[]): Promise<void> {
      create(ids, 60)
      await clock.pass(1_060)
    }
  }
}

t.test('the first check is thorough, until one succeeds; later ones are not', async t => {
  const { store, writer } = batchedStore()
  writer.fault = new Error('not authorized')
  await t.rejects(store.ready(), { message: 'not authorized' })
  writer.fault = undefined
  await t.resolves(store.ready())
  await t.resolves(store.ready())
  t.strictSame(writer.checks, [true, true, false])
})

t.test('for a second after a failed write the store is not ready, as a check may pass where a write fails', async t => {
  const { clock, store, writer, create } = batchedStore()
  writer.respond = () => notStored('disk full', true)
  create([1], 60)
  await clock.pass(60)
  await t.rejects(store.ready(), { message: 'disk full' })
  await clock.pass(1_000)
  await t.resolves(store.ready())
})

t.test('after a failed write a thorough check decides, since a service that is not ready may get no writes', async t => {
  const failures = [notStored(), notStored('disk full', true), new PlantOutcomeUnknown('away'), [new PlantOutcomeUnknown('away')]]
  for (const failure of failures) {
    const { store, writer, create } = await readyStore()
    writer.respond = () => failure
    await create(1)
    writer.fault = new Error('no room')
    await t.rejects(store.ready(), { message: 'no room' })
    writer.fault = undefined
    await t.resolves(store.ready())
    await t.resolves(store.ready())
    t.strictSame(writer.checks, [true, true, false])
  }
})

t.test('a write that stores or finds a plant makes the store ready', async t => {
  const { store, writer, create } = await readyStore()
  writer.respond = ids => ids.includes(1) ? notStored() : 'same'
  await create(1)
  await create(2)
  await t.resolves(store.ready())
  t.strictSame(writer.checks, [false])
})

t.test('a write that fails during a check is followed by another thorough check', async t => {
  const { store, writer, create } = await readyStore()
  writer.respond = () => notStored()
  await create(1)
  const { check } = writer
  let pass = (): void => {}
  writer.check = () => new Promise(resolve => { pass = resolve })
  const ready = store.ready()
  await create(2)
  pass()
  await t.resolves(ready)
  writer.check = check
  await store.ready()
  t.strictSame(writer.checks, [true])
})

t.test('a plant that is refused, or fails while others are stored, is no fault of the store, nor a sign that one is over', async t => {
  const { store, writer, create } = await readyStore()
  writer.respond = () => [notStored('not valid', true)]
  await create(1)
  writer.respond = () => [notStored('odd'), 'stored']
  await create(2, 3)
  await t.resolves(store.ready())
  writer.respond = () => notStored('disk full', true)
  await create(4)
  writer.respond = () => [new PlantNotStored('not valid', { permanent: true })]
  await create(5)
  await t.resolves(store.ready())
  t.strictSame(writer.checks, [false, true])
})

t.test('a store that is closed while it opens stays closed, even if opening fails', async t => {
  let fail = (_error: Error): void => {}
  const { writer } = batchedStore()
  const store = new BatchedPlantStore(Object.assign(writer, {
    open: () => new Promise<void>((_resolve, reject) => { fail = reject })
  }))
  const opened = store.open()
  await store.close()
  fail(new Error('no'))
  await t.rejects(opened, { message: 'no' })
  await t.rejects(store.ready(), { message: 'the store is closed' })
})
