import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { RemotePlantStore, servePlantStore } from '../../../src/service/cluster/remote-plant-store.js'
import { plantStoreContract } from '../../../src/stores/contract.js'
import { PlantNotStored, PlantPerhapsStored, type CreateOutcome, type NewPlant, type PlantStore } from '../../../src/stores/plant-store.js'
import { sqlitePlace } from '../../support/stores/places.js'
import { until } from '../../support/until.js'

const BYTE_LIMIT = 100_000

/** A connection: the end of a worker, and that of the primary process. */
async function socketPair (t: Test): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const worker = connect(server.address() as { port: number })
  const [primary] = await once(server, 'connection')
  server.close()
  t.teardown(() => { worker.destroy() })
  return [worker, primary]
}

/** A store of a worker whose plants go to this function. */
async function remoteTo (t: Test, create: PlantStore['create']) {
  const [worker, primary] = await socketPair(t)
  servePlantStore(primary, { create }, BYTE_LIMIT)
  return { store: new RemotePlantStore(worker), primary }
}

function plants (count: number, name = 'Monstera'): NewPlant[] {
  return Array.from({ length: count }, (_, i) => ({ id: BigInt(i), name }))
}

function soon (): number {
  return performance.now() + 10_000
}

t.test('the store of a worker fulfills the PlantStore contract', async t => {
  for (const { name, check } of plantStoreContract) {
    t.test(name, async t => {
      const place = await sqlitePlace(t)
      const ownStore = place.store()
      await ownStore.open?.()
      const pairs = [await socketPair(t), await socketPair(t)]
      const remote = (): PlantStore => {
        const [worker, primary] = pairs.pop() as [Socket, Socket]
        servePlantStore(primary, ownStore, BYTE_LIMIT)
        return new RemotePlantStore(worker)
      }
      const skipped = await check(() => ({ store: remote(), another: remote, stored: place.stored }))
      t.equal(skipped, name.startsWith('open resolves') ? 'the store has no open' : undefined)
    })
  }
})

t.test('each plant gets its own outcome or error, as soon as it is known', async t => {
  const responses: Record<string, () => Promise<CreateOutcome>> = {
    0: async () => 'taken',
    1: async () => { throw new PlantNotStored('the disk is full', { permanent: true }) },
    2: async () => { throw new PlantPerhapsStored('the sync failed') },
    3: async () => { throw new Error('a fault') },
    4: async () => new Promise(() => {}),
    5: async () => 'same'
  }
  const { store } = await remoteTo(t, async ({ id }) => responses[String(id)]?.() ?? 'stored')
  const outcomes = plants(6).map(async plant => store.create(plant, soon()).catch((error: Error) => error))
  const [taken, full, sync, fault, , same] = outcomes
  t.equal(await taken, 'taken')
  t.match(await full, { name: 'PlantNotStored', message: 'the disk is full', permanent: true })
  t.match(await sync, { name: 'PlantPerhapsStored', message: 'the sync failed' })
  t.match(await fault, { name: 'PlantPerhapsStored', message: 'a fault' })
  t.equal(await same, 'same')
})

t.test('id, name and tag are exact, and the deadline is passed on', async t => {
  const received: [NewPlant, number][] = []
  const { store } = await remoteTo(t, async (...args) => {
    received.push(args)
    return 'stored'
  })
  const created: NewPlant[] = [
    { id: -(2n ** 63n), name: '\n\0"\u2028\u{10ffff}', tag: '' },
    { id: 2n ** 63n - 1n, name: 'x'.repeat(200_000) }
  ]
  const deadline = soon()
  await Promise.all(created.map(async plant => store.create(plant, deadline)))
  t.strictSame(received.map(([plant]) => plant), created)
  for (const [, passedOn] of received) t.ok(Math.abs(passedOn - deadline) < 1)
})

t.test('if the primary process exits, pending plants may be stored, and later ones are not', async t => {
  const { store, primary } = await remoteTo(t, async () => new Promise(() => {}))
  const pending = store.create({ id: 1n, name: 'Monstera' }, soon())
  setImmediate(() => { primary.destroy() })
  await t.rejects(pending, PlantPerhapsStored)
  await t.rejects(store.create({ id: 2n, name: 'Monstera' }, soon()), PlantNotStored)
  await t.rejects(store.ready(), { message: 'the store is closed' })
  await store.close()
})

t.test('a worker that exits leaves the other workers their results', async t => {
  const [[one, itsEnd], [other, othersEnd]] = [await socketPair(t), await socketPair(t)]
  let arrived = 0
  let release = (): void => {}
  const released = new Promise<CreateOutcome>(resolve => { release = () => resolve('stored') })
  const create = (): Promise<CreateOutcome> => {
    arrived++
    return released
  }
  for (const socket of [itsEnd, othersEnd]) servePlantStore(socket, { create }, BYTE_LIMIT)
  const stores = [one, other].map(worker => new RemotePlantStore(worker))
  const [lost, kept] = stores.map(async store => store.create({ id: 1n, name: 'Monstera' }, soon()))
  await until(() => arrived === 2)
  one.resetAndDestroy()
  await t.rejects(lost as Promise<unknown>, PlantPerhapsStored)
  await until(() => itsEnd.destroyed)
  release()
  t.equal(await kept, 'stored')
})

t.test('while the store does not respond, the primary process reads no more than its limit', async t => {
  const resolvers: (() => void)[] = []
  const { store } = await remoteTo(t, async () => new Promise(resolve => {
    resolvers.push(() => resolve('stored'))
  }))
  const all = plants(100, 'x'.repeat(5_000))
  const outcomes: Promise<CreateOutcome>[] = []
  for (const plant of all) {
    outcomes.push(store.create(plant, soon()))
    await new Promise(setImmediate)
  }
  await until(() => resolvers.length >= 20)
  await new Promise(resolve => setTimeout(resolve, 100))
  t.ok(resolvers.length < 50, `${resolvers.length} of 100 plants were read`)
  const settling = setInterval(() => { for (const resolve of resolvers.splice(0)) resolve() }, 1)
  t.teardown(() => clearInterval(settling))
  t.strictSame(new Set(await Promise.all(outcomes)), new Set(['stored']))
})
