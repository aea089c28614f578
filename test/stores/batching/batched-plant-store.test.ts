import t from 'tap'
import { BatchedPlantStore } from '../../../src/stores/batching/batched-plant-store.js'
import { PlantNotStored, PlantOutcomeUnknown } from '../../../src/stores/plant-store.js'
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
