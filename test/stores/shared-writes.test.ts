import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { PlantNotStored, PlantPerhapsStored, type NewPlant } from '../../src/stores/plant-store.js'
import { SharedWrites, type BatchWriter, type WriteResult } from '../../src/stores/shared-writes.js'

interface Batch {
  plants: readonly NewPlant[]
  deadline: number
  at: number
  answer: (result: WriteResult | ((plant: NewPlant, index: number) => WriteResult)) => void
}

/** A writer whose batches wait until the test answers them, or answers each at once with what `auto` says. */
class FakeWriter implements BatchWriter {
  readonly batches: Batch[] = []
  auto: ((plant: NewPlant, batch: number) => WriteResult) | undefined

  constructor (readonly maxInFlight = 1) {}

  write (plants: readonly NewPlant[], deadline: number): Promise<readonly WriteResult[]> {
    return new Promise(resolve => {
      const batch: Batch = {
        plants,
        deadline,
        at: performance.now(),
        answer: result => resolve(plants.map((plant, index) => typeof result === 'function' ? result(plant, index) : result))
      }
      const place = this.batches.push(batch)
      const { auto } = this
      if (auto !== undefined) batch.answer(plant => auto(plant, place))
    })
  }

  get ids (): number[][] {
    return this.batches.map(({ plants }) => plants.map(({ id }) => Number(id)))
  }

  batch (place: number): Batch {
    return this.batches[place] as Batch
  }
}

const plant = (id: number, name = `plant ${id}`): NewPlant => ({ id: BigInt(id), name })
const soon = (ms = 5_000) => performance.now() + ms
const turns = async (): Promise<void> => { for (let i = 0; i < 5; i++) await new Promise(resolve => setImmediate(resolve)) }
const notStored = (message = 'away', permanent = false) => new PlantNotStored(message, { permanent })

async function rejection (t: Test, create: Promise<unknown>): Promise<Error> {
  try {
    t.fail(`resolved with ${String(await create)}`)
  } catch (error) {
    return error as Error
  }
  throw new Error('unreachable')
}

t.jobs = 4

t.test('what one turn of the event loop brings shares a write, each with its own outcome', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  const creates = [1, 2, 3].map(id => writes.create(plant(id), soon()))
  await turns()
  t.strictSame(writer.ids, [[1, 2, 3]])
  writer.batch(0).answer((_plant, index) => (['stored', 'same', 'taken'] as const)[index] as WriteResult)
  t.strictSame(await Promise.all(creates), ['stored', 'same', 'taken'])
})

t.test('with one write at a time, what comes in the meantime is the next', async t => {
  const writer = new FakeWriter(1)
  const writes = new SharedWrites(writer)
  const creates = [writes.create(plant(1), soon())]
  await turns()
  for (const id of [2, 3, 4, 5]) creates.push(writes.create(plant(id), soon()))
  await turns()
  t.strictSame(writer.ids, [[1]], 'the others wait')
  writer.batch(0).answer('stored')
  await turns()
  t.strictSame(writer.ids, [[1], [2, 3, 4, 5]])
  writer.batch(1).answer('stored')
  t.strictSame(await Promise.all(creates), Array(5).fill('stored'))
})

t.test('while a large batch is under way a few wait, many go, and never are more batches under way than may be', async t => {
  const writer = new FakeWriter(2)
  const writes = new SharedWrites(writer)
  const sizes = () => writer.ids.map(ids => ids.length)
  const create = (count: number) => { for (let id = 0; id < count; id++) writes.create(plant(id), soon()).catch(() => {}) }
  create(100)
  await turns()
  create(20)
  await turns()
  t.strictSame(sizes(), [100], 'a few wait')
  create(30)
  await turns()
  t.strictSame(sizes(), [100, 50], 'half as many as there were go')
  create(400)
  await turns()
  t.strictSame(sizes(), [100, 50], 'no third one at once')
  writer.batch(0).answer('stored')
  await turns()
  t.strictSame(sizes(), [100, 50, 400])
})

t.test('what has come back no longer counts to those that wait', async t => {
  const writer = new FakeWriter(2)
  const writes = new SharedWrites(writer)
  const create = (count: number) => { for (let id = 0; id < count; id++) writes.create(plant(id), soon()).catch(() => {}) }
  create(100)
  await turns()
  writer.batch(0).answer('stored')
  await turns()
  create(20)
  await turns()
  create(60)
  await turns()
  t.strictSame(writer.ids.map(ids => ids.length), [100, 20, 60])
})

t.test('with nothing under way it gathers while each turn brings more, until half of the last crowd is there', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  const turn = () => new Promise(resolve => setImmediate(resolve))
  const create = (id: number) => { writes.create(plant(id), soon()).catch(() => {}) }
  for (let id = 1; id <= 10; id++) create(id)
  await turns()
  writer.batch(0).answer('stored')
  await turns()
  for (const id of [11, 12, 13]) {
    create(id)
    await turn()
    t.equal(writer.batches.length, 1, `${id} waits for another turn`)
  }
  await turn()
  t.strictSame(writer.ids[1], [11, 12, 13], 'a turn that brings none ends it')
  writer.batch(1).answer('stored')
  await turns()
  for (const id of [14, 15, 16, 17]) create(id)
  await turn()
  create(18)
  await turn()
  t.strictSame(writer.ids[2], [14, 15, 16, 17, 18], 'enough are there')
})

t.test('a batch has the time of the create that can wait longest', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  writer.auto = () => 'stored'
  const [now, ...deadlines] = [0, 2_000, 4_000, 3_000].map(soon) as [number, number, number, number]
  await Promise.all(deadlines.map((deadline, id) => writes.create(plant(id), deadline)))
  t.equal(writer.batch(0).deadline, deadlines[1], `from ${now} on`)
})

t.test('a batch that comes back takes what waits along, however few', async t => {
  const writer = new FakeWriter(2)
  const writes = new SharedWrites(writer)
  for (const id of [1, 2, 3]) writes.create(plant(id), soon()).catch(() => {})
  await turns()
  writes.create(plant(4), soon()).catch(() => {})
  await turns()
  t.equal(writer.batches.length, 1)
  writer.batch(0).answer('stored')
  await turns()
  t.strictSame(writer.ids, [[1, 2, 3], [4]])
})

t.test('full batches double in size while they are short, to 4,000 plants', async t => {
  const writer = new FakeWriter(1)
  const writes = new SharedWrites(writer)
  writer.auto = () => 'stored'
  await Promise.all(Array.from({ length: 12_000 }, (_, id) => writes.create(plant(id), soon())))
  t.strictSame(writer.ids.map(ids => ids.length), [500, 1_000, 2_000, 4_000, 4_000, 500])
})

t.test('batches halve in size where one takes long, to 32 plants', async t => {
  const writer = new FakeWriter(1)
  const writes = new SharedWrites(writer)
  for (const expected of [500, 250, 125, 62, 32, 32]) {
    const creates = Array.from({ length: expected + 1 }, (_, id) => writes.create(plant(id), soon(20_000)))
    await turns()
    const batch = writer.batches.at(-1) as Batch
    t.equal(batch.plants.length, expected)
    await sleep(410)
    writer.auto = () => 'stored'
    batch.answer('stored')
    await Promise.all(creates)
    writer.auto = undefined
  }
})

t.test('a batch has 4,000,000 characters of names and tags at most, but a longer plant goes alone', async t => {
  const writer = new FakeWriter(1)
  const writes = new SharedWrites(writer)
  writer.auto = () => 'stored'
  const large = 'x'.repeat(1_500_000)
  await Promise.all([
    ...[1, 2, 3].map(id => writes.create({ id: BigInt(id), name: large, tag: 'tag' }, soon())),
    writes.create(plant(4, 'x'.repeat(5_000_000)), soon()),
    writes.create({ id: 5n, name: '', tag: large }, soon()),
    writes.create({ id: 6n, name: '', tag: large }, soon())
  ])
  t.strictSame(writer.ids, [[1, 2], [3], [4], [5, 6]])
})

t.test('what failed is sent again, until it is stored', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  writer.auto = (_plant, batch) => batch < 4 ? notStored() : 'stored'
  t.equal(await writes.create(plant(1), soon()), 'stored')
  t.strictSame(writer.ids, [[1], [1], [1], [1]])
})

t.test('each pause is longer than the one before, between half and the whole of a doubling', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  writer.auto = (_plant, batch) => batch < 6 ? notStored() : 'stored'
  await writes.create(plant(1), soon())
  const pauses = writer.batches.slice(1).map(({ at }, place) => at - writer.batch(place).at)
  pauses.forEach((pause, place) => t.ok(pause >= 12 * 2 ** place, `pause ${place + 1}: ${pause} ms`))
  const all = pauses.reduce((sum, pause) => sum + pause, 0)
  t.ok(all < 25 * (1 + 2 + 4 + 8 + 16) + 250, `all: ${all} ms`)

  writer.auto = (_plant, batch) => batch === 7 ? notStored() : 'stored'
  const start = performance.now()
  await writes.create(plant(2), soon())
  t.ok(performance.now() - start < 300, 'after a success it begins anew')
})

t.test('only what failed of a batch is sent again, with what came meanwhile', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  const creates = [1, 2, 3].map(id => writes.create(plant(id), soon()))
  await turns()
  creates.push(writes.create(plant(4), soon()))
  writer.auto = () => 'stored'
  writer.batch(0).answer((_plant, index) => index === 1 ? notStored() : 'stored')
  t.strictSame(await Promise.all(creates), Array(4).fill('stored'))
  t.strictSame(writer.ids.map(ids => ids.sort()), [[1, 2, 3], [2, 4]])
})

t.test('what comes during a pause waits for its end', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  writer.auto = (_plant, batch) => batch === 1 ? notStored() : 'stored'
  const first = writes.create(plant(1), soon())
  await turns()
  const second = writes.create(plant(2), soon())
  t.strictSame(await Promise.all([first, second]), ['stored', 'stored'])
  t.strictSame(writer.ids.map(ids => ids.sort()), [[1], [1, 2]])
})

t.test('a batch that fails during a pause is part of the next try', async t => {
  const writer = new FakeWriter(2)
  const writes = new SharedWrites(writer)
  const creates = [writes.create(plant(1), soon())]
  await turns()
  creates.push(writes.create(plant(2), soon()))
  await turns()
  t.strictSame(writer.ids, [[1], [2]])
  writer.auto = () => 'stored'
  writer.batch(0).answer(notStored())
  await turns()
  writer.batch(1).answer(notStored())
  t.strictSame(await Promise.all(creates), ['stored', 'stored'])
  t.equal(writer.batches.length, 3)
})

t.test('at its deadline a create that surely was not stored is PlantNotStored, with the reason', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  writer.auto = () => notStored('the disk is full')
  const start = performance.now()
  const error = await rejection(t, writes.create(plant(1), soon(400)))
  t.type(error, PlantNotStored)
  t.equal(error.message, 'the disk is full')
  t.ok(performance.now() - start < 400, 'before the deadline, so that the answer is out in time')
  t.ok(writer.batches.length > 2, `after ${writer.batches.length} tries`)
})

t.test('what was left open once stays open, whatever the later tries say', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  writer.auto = (_plant, batch) => batch === 2 ? new PlantPerhapsStored('no word') : notStored()
  const error = await rejection(t, writes.create(plant(1), soon(400)))
  t.type(error, PlantPerhapsStored)
  t.equal(error.message, 'no word')
})

t.test('what was left open is also settled by a later try', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  writer.auto = (_plant, batch) => batch === 1 ? new PlantPerhapsStored('no word') : 'same'
  t.equal(await writes.create(plant(1), soon()), 'same')
})

t.test('a permanent refusal is not sent again', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  writer.auto = () => notStored('not authorized', true)
  const error = await rejection(t, writes.create(plant(1), soon()))
  t.type(error, PlantNotStored)
  t.match(error, { message: 'not authorized', permanent: true })
  t.equal(writer.batches.length, 1)
})

t.test('a permanent refusal after an open try stays open', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  writer.auto = (_plant, batch) => batch === 1 ? new PlantPerhapsStored('no word') : notStored('not authorized', true)
  t.type(await rejection(t, writes.create(plant(1), soon())), PlantPerhapsStored)
  t.equal(writer.batches.length, 2)
})

t.test('what waits past its deadline is not sent', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  const first = writes.create(plant(1), soon())
  await turns()
  const late = rejection(t, writes.create(plant(2), soon(10)))
  const other = writes.create(plant(3), soon())
  await sleep(20)
  writer.auto = () => 'stored'
  writer.batch(0).answer('stored')
  t.strictSame(await Promise.all([first, other]), ['stored', 'stored'])
  const error = await late
  t.type(error, PlantNotStored)
  t.match(error.message, /too busy/)
  t.strictSame(writer.ids, [[1], [3]])
})

t.test('at a pause, what cannot wait for its end is told at once', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  writer.auto = () => notStored('away')
  const start = performance.now()
  const errors = await Promise.all([rejection(t, writes.create(plant(1), soon(30))), rejection(t, writes.create(plant(2), soon(40)))])
  t.ok(performance.now() - start < 30)
  t.strictSame(errors.map(({ message }) => message), ['away', 'away'])
})

t.test('close resolves at once where nothing is under way, also twice', async t => {
  const writes = new SharedWrites(new FakeWriter())
  await t.resolves(writes.close())
  await t.resolves(writes.close())
})

t.test('close waits for what is under way and what waits, and refuses what comes later', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  const settled: string[] = []
  const note = (name: string) => () => { settled.push(name) }
  writes.create(plant(1), soon()).then(note('first'))
  await turns()
  writes.create(plant(2), soon()).then(note('second'))
  const closed = Promise.all([writes.close(), writes.close()]).then(note('closed'))
  const error = await rejection(t, writes.create(plant(3), soon()))
  t.type(error, PlantNotStored)
  t.equal(error.message, 'the store is closed')
  await turns()
  t.strictSame(settled, [])
  writer.batch(0).answer('stored')
  await turns()
  t.strictSame(settled, ['first'])
  writer.batch(1).answer('stored')
  await closed
  t.strictSame(settled, ['first', 'second', 'closed'])
  t.strictSame(writer.ids, [[1], [2]])
})

t.test('while it closes, what fails is not sent again', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  const failed = rejection(t, writes.create(plant(1), soon()))
  await turns()
  const closed = writes.close()
  writer.batch(0).answer(notStored('away'))
  t.equal((await failed).message, 'away')
  await closed
  t.equal(writer.batches.length, 1)
})

t.test('close ends a pause, and gives up what waits for its end', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  writer.auto = () => notStored('away')
  const failed = rejection(t, writes.create(plant(1), soon()))
  await turns()
  const late = rejection(t, writes.create(plant(2), soon()))
  await writes.close()
  t.equal((await failed).message, 'away')
  t.type(await late, PlantNotStored)
  t.equal(writer.batches.length, 1)
})

t.test('close also resolves where all that waited is past its deadline', async t => {
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  const past = rejection(t, writes.create(plant(1), performance.now() - 1))
  await t.resolves(writes.close())
  t.match((await past).message, /too busy/)
  t.equal(writer.batches.length, 0)
})

t.test('who listens on the channel hears of each batch, once when it starts and once when it has ended', { buffered: false }, async t => {
  const heard: unknown[] = []
  const listen = (message: unknown) => { heard.push(message) }
  subscribe('plant-store:batch', listen)
  const writer = new FakeWriter()
  const writes = new SharedWrites(writer)
  writer.auto = (plant, batch) => batch === 1 && plant.id === 1n ? notStored() : 'stored'
  await Promise.all([1, 2].map(id => writes.create(plant(id), soon())))
  unsubscribe('plant-store:batch', listen)
  t.match(heard, [
    { plants: 2, milliseconds: undefined, again: 0 }, { plants: 2, milliseconds: Number, again: 1 },
    { plants: 1, milliseconds: undefined, again: 0 }, { plants: 1, milliseconds: Number, again: 0 }
  ])
  t.equal(heard.length, 4)
  t.ok((heard[1] as { milliseconds: number }).milliseconds < 1_000)
})
