import { execFileSync } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { systemClock } from '../../src/clock.js'
import type { NewPlant } from '../../src/plant.js'
import { PlantNotStored, PlantOutcomeUnknown } from '../../src/stores/store.js'
import { memoryPlantStore } from '../../src/stores/memory-plant-store.js'
import { BatchedPlantStore } from '../../src/stores/batching/batched-plant-store.js'
import type { StoreWriter, WriteResult } from '../../src/stores/batching/store-writer.js'
import { VirtualClock } from '../support/virtual-clock.js'

// The simulation plays deadlines, retries, uncertain outcomes and shutdowns. Here is what its stores cannot see.

/** How late a timer of the queue may be. */
const TICK = 5

type Results = readonly WriteResult[] | WriteResult

interface WrittenBatch {
  readonly ids: readonly number[]
  readonly characters: number
  readonly at: number
  readonly deadline: number
  /** Completes the write, with a result for each plant or one for all. */
  readonly answer: (results: Results) => void
}

/** A store whose clock and writer are controlled by the test. */
function batchedStore (maxInFlight = 1) {
  const clock = new VirtualClock()
  const batches: WrittenBatch[] = []
  /** Its batches wait for the test to answer them; if `respond` is set, each gets its results immediately. */
  const writer = {
    maxInFlight,
    batches,
    respond: undefined as ((ids: readonly number[]) => Results) | undefined,
    /** What checks reject with. */
    fault: undefined as Error | undefined,
    /** For each check, whether it was thorough. */
    checks: [] as boolean[],
    write (plants: readonly NewPlant[], deadline: number): ReturnType<StoreWriter['write']> {
      return new Promise(resolve => {
        const ids = plants.map(({ id }) => Number(id))
        const characters = plants.reduce((sum, { name, tag = '' }) => sum + name.length + tag.length, 0)
        const answer = (results: Results) => resolve(typeof results === 'string' ? ids.map(() => results) : results)
        batches.push({ ids, characters, at: clock.now(), deadline, answer })
        if (writer.respond !== undefined) answer(writer.respond(ids))
      })
    },
    async check (thoroughly: boolean) {
      writer.checks.push(thoroughly)
      if (writer.fault !== undefined) throw writer.fault
    },
    async close () {}
  }
  const store = new BatchedPlantStore(writer, clock, () => 1)
  const outcomes = new Map<number, string | Error>()

  /** Creates plants, and resolves when nothing more is due now; `outcomes` has each outcome, or its error, by id. */
  async function create (ids: readonly number[], timeoutMs = 5_000, fields: Partial<NewPlant> = {}): Promise<void> {
    for (const id of ids) {
      store.create({ id: BigInt(id), name: 'Ficus', ...fields }, clock.now() + timeoutMs)
        .catch((error: Error) => error)
        .then(outcome => { outcomes.set(id, outcome) })
    }
    await clock.turns()
  }

  return { clock, writer, store, outcomes, create }
}

const notStored = (message = 'away', permanent = false) => new PlantNotStored(message, { permanent })
const numbers = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index)

t.test('create requests from one turn of the event loop share a write, and each gets its own outcome', async t => {
  const { clock, writer, outcomes, create } = batchedStore()
  const now = clock.now()
  create([1], 2_000)
  create([2], 3_000)
  await create([3], 4_000)
  t.match(writer.batches, [{ ids: [1, 2, 3], at: now, deadline: now + 4_000 }])
  writer.batches[0]?.answer(['stored', 'same', 'taken'])
  await clock.turns()
  t.strictSame([...outcomes], [[1, 'stored'], [2, 'same'], [3, 'taken']])
})

t.test('a batch that hangs holds up later ones for milliseconds, up to the number that may be in flight', async t => {
  const { clock, writer, create } = batchedStore(4)
  for (const id of numbers(5)) {
    await create([id])
    await clock.pass(TICK)
  }
  t.strictSame(writer.batches.map(({ ids }) => ids), [[1], [2], [3], [4]])
})

t.test('a batch fits in a command of MongoDB: at most 256 plants and 4,000,000 characters, or one plant', async t => {
  const { writer, outcomes, create } = batchedStore()
  writer.respond = () => 'stored'
  await create(numbers(2_500))
  await create(numbers(5, 3_000), 5_000, { name: 'x'.repeat(1_500_000) })
  await create(numbers(5, 3_500), 5_000, { tag: 'x'.repeat(1_500_000) })
  await create([4_000], 5_000, { name: 'x'.repeat(5_000_000) })
  for (const { ids, characters } of writer.batches) {
    t.ok(ids.length <= 256)
    t.ok(characters <= 4_000_000 || ids.length === 1)
  }
  t.equal(outcomes.size, 2_511)
  t.ok(writer.batches.length < 20)
})

t.test('while every batch fails as a whole, single plants are sent, each time another, after a pause', async t => {
  const { clock, writer, outcomes, create } = batchedStore(16)
  writer.respond = () => notStored()
  await create([1, 2])
  await create([3])
  await clock.pass(1_000)
  t.strictSame(writer.batches.slice(0, 5).map(({ ids }) => ids), [[1, 2], [1], [2], [3], [1]])
  const pauses = writer.batches.slice(1).map(({ at }, index) => at - (writer.batches[index]?.at ?? 0))
  t.ok(pauses.every((pause, index) => index === 0 || pause >= (pauses[index - 1] ?? 0)), pauses.join())
  t.ok((pauses.at(-1) ?? 0) >= 250)
  writer.respond = () => 'stored'
  await clock.pass(500 + TICK)
  t.strictSame([...outcomes.values()], ['stored', 'stored', 'stored'])
  t.equal(clock.timers, 0, 'an idle store has no timer')
})

t.test('after an outage, batches grow from one plant to 256 again', async t => {
  const { clock, writer, create } = batchedStore()
  writer.respond = () => notStored()
  await create(numbers(600))
  const first = writer.batches.length
  writer.respond = () => 'stored'
  await clock.pass(25 + TICK)
  t.strictSame(writer.batches.slice(first).map(({ ids }) => ids.length), [1, 2, 4, 8, 16, 32, 64, 128, 256, 89])
})

t.test('one plant that fails each batch that it is in is soon sent alone: those beside it are stored', async t => {
  for (const maxInFlight of [1, 16]) {
    const { clock, writer, outcomes, create } = batchedStore(maxInFlight)
    writer.respond = ids => ids.includes(7) ? new PlantOutcomeUnknown('odd') : 'stored'
    await create(numbers(250))
    await clock.pass(1_000)
    t.equal(outcomes.size, 249, 'all but one have their outcome within a second')
    await create([999])
    await clock.pass(250 + TICK)
    t.equal(outcomes.get(999), 'stored', 'another one shows that the store works')
    const before = writer.batches.length
    for (const id of numbers(100, 1_000)) {
      await create([id])
      await clock.pass(10)
      t.equal(outcomes.get(id), 'stored', 'later ones are not held up')
    }
    const withIt = writer.batches.slice(before).filter(({ ids }) => ids.includes(7))
    t.ok(withIt.length > 2 && withIt.every(({ ids }) => ids.length === 1), 'it is sent alone')
    await clock.pass(4_000)
    t.match(outcomes.get(7), { name: 'PlantOutcomeUnknown', message: 'odd' })
    t.equal(clock.timers, 0)
  }
})

t.test('the error of a plant is the last one; once an attempt has left its outcome open, it stays open', async t => {
  const { clock, writer, outcomes, create } = batchedStore()
  const errors = [new PlantOutcomeUnknown('first'), notStored('second'), notStored('last')]
  writer.respond = () => errors.shift() ?? notStored('last')
  await create([1], 1_000)
  await clock.pass(1_000)
  t.match(outcomes.get(1), { name: 'PlantOutcomeUnknown', message: 'last' })
})

t.test('a plant that fails by itself is sent again after a pause, and delays no other', async t => {
  const { clock, writer, outcomes, create } = batchedStore()
  writer.respond = ids => ids.map(id => id === 2 ? notStored('odd') : 'stored')
  await create([1, 2, 3])
  for (const id of numbers(100, 4)) {
    await create([id])
    await clock.pass(10)
    t.equal(outcomes.get(id), 'stored')
  }
  t.ok(writer.batches.filter(({ ids }) => ids.includes(2)).length < 10, 'in a second')
  await clock.pass(4_000)
  t.match(outcomes.get(2), { name: 'PlantNotStored', message: 'odd' })
})

t.test('plants that fail one by one leave half of each batch to new ones', async t => {
  const { clock, writer, create } = batchedStore()
  writer.respond = ids => ids.map(() => notStored())
  await create(numbers(512))
  writer.respond = undefined
  await clock.pass(25 + TICK)
  create(numbers(200, 1_001))
  writer.batches[2]?.answer(numbers(256).map(() => notStored()))
  await clock.turns()
  const ids = writer.batches[3]?.ids ?? []
  t.strictSame([ids.length, ids.filter(id => id > 1_000)], [256, numbers(128, 1_001)])
})

t.test('a permanent failure, of a plant or of a whole batch, rejects at once, and holds up nothing', async t => {
  const { writer, outcomes, create } = batchedStore()
  writer.respond = ids => ids.includes(2)
    ? ids.map(id => id === 2 ? notStored('not valid', true) : 'stored')
    : notStored('disk full', true)
  await create([1, 2, 3])
  await create([4, 5])
  await create([6])
  const full = { message: 'disk full' }
  t.match(Object.fromEntries(outcomes), {
    1: 'stored', 2: { message: 'not valid' }, 3: 'stored', 4: full, 5: full, 6: full
  })
  t.equal(writer.batches.length, 3)
})

t.test('what a writer must not do leaves the outcome of its batch open, and holds up nothing', async t => {
  const misdeeds: Record<string, () => unknown> = {
    'rejects with an error': () => Promise.reject(new PlantNotStored('away', { permanent: true })),
    'rejects with no error': () => ({ then: (_: unknown, reject: (reason: unknown) => void) => reject(undefined) }),
    'throws synchronously': () => { throw new Error('odd') },
    'gives too few results': () => Promise.resolve([])
  }
  for (const [misdeed, write] of Object.entries(misdeeds)) {
    const { clock, writer, store, outcomes, create } = batchedStore()
    const soundWrite = writer.write
    Object.assign(writer, { write, respond: () => 'stored' })
    await create([1], 120)
    await clock.pass(120)
    t.match(outcomes.get(1), { name: 'PlantOutcomeUnknown' }, misdeed)
    create([2])
    await clock.pass(100)
    writer.write = soundWrite
    await clock.pass(250 + TICK)
    t.equal(outcomes.get(2), 'stored', 'a plant that is sent again once it behaves is stored')
    let isClosed = false
    store.close().then(() => { isClosed = true })
    await clock.turns()
    t.ok(isClosed, 'close ends')
  }
})

t.test('a create of no plant, or with a deadline that is no number, rejects; plants beside it are stored', async t => {
  const { clock, writer, store, outcomes, create } = batchedStore()
  writer.respond = () => 'stored'
  const plant = { id: 3n, name: 'Ficus' }
  const unsound: { plant: unknown, message: RegExp | string }[] = [
    { plant: undefined, message: /^The plant is not valid/ },
    { plant: { ...plant, id: 2n ** 63n }, message: /^id must be an integer/ },
    { plant: { ...plant, id: -(2n ** 63n) - 1n }, message: /^id must be an integer/ },
    { plant: { ...plant, name: '\ud800' }, message: /^name must be/ },
    { plant: { ...plant, tag: '\udfff' }, message: /^tag must be/ },
    { plant: { id: 3n, get name () { throw new TypeError('a getter') } }, message: 'a getter' }
  ]
  create([1])
  const rejected: unknown[] = [store, memoryPlantStore()].flatMap(store => unsound.map(({ plant, message }) => (
    t.rejects(store.create(plant as NewPlant, clock.now() + 1_000), { name: 'TypeError', message })
  )))
  for (const deadline of [null, NaN]) {
    rejected.push(t.rejects(store.create(plant, deadline as number), { message: 'the deadline must be a number' }))
  }
  await create([2])
  await Promise.all(rejected)
  t.strictSame(writer.batches.map(({ ids }) => ids), [[1, 2]])
  t.strictSame([...outcomes.values()], ['stored', 'stored'])
})

t.test('a plant is read once, when it is created: what its caller does to it later has no effect', async t => {
  const { clock, writer, store } = batchedStore()
  const written: NewPlant[] = []
  writer.write = async plants => { written.push(...plants); return ['stored', 'stored'] }
  let reads = 0
  const plant = { id: 1n, get name () { return reads++ === 0 ? 'Ficus' : undefined as unknown as string } }
  const other = { id: 2n, name: 'Fern', tag: 'tall' }
  const outcomes = Promise.all([store.create(plant, clock.now() + 1_000), store.create(other, clock.now() + 1_000)])
  Object.assign(other, { name: undefined, tag: 1 })
  await clock.turns()
  await outcomes
  t.strictSame(written, [{ id: 1n, name: 'Ficus' }, { id: 2n, name: 'Fern', tag: 'tall' }])
})

t.test('while a write hangs, each pending plant is given up shortly before its deadline', async t => {
  const { clock, outcomes, create } = batchedStore()
  await create([1], 60_000)
  const timeouts = new Map(numbers(600, 2).map(id => [id, id * 8]))
  for (const [id, timeout] of timeouts) create([id], timeout)
  const start = clock.now()
  for (let passed = 0; passed < 5_000; passed += 100) {
    await clock.pass(100)
    const early = [...outcomes.keys()].filter(id => start + (timeouts.get(id) ?? 0) > clock.now() + 100)
    const late = [...timeouts].filter(([id, timeout]) => start + timeout < clock.now() && !outcomes.has(id))
    t.strictSame([early, late], [[], []])
  }
  t.match([...outcomes.values()], numbers(600).map(() => ({ name: 'PlantNotStored' })))
})

t.test('a plant without a deadline has ten seconds', async t => {
  const { clock, store } = batchedStore()
  let failure: unknown
  store.create({ id: 1n, name: 'Ficus' }).catch(error => { failure = error })
  store.create({ id: 2n, name: 'Ficus' }, clock.now() + 60_000)
  await clock.pass(9_000)
  t.equal(failure, undefined)
  store.create({ id: 3n, name: 'Fern' }).catch(error => { failure = error })
  await clock.pass(10_000)
  t.match(failure, { name: 'PlantNotStored' })
})

type Batched = ReturnType<typeof batchedStore>

/** Closes a store; gives the milliseconds until it was closed. */
async function timeToClose ({ clock, store }: Pick<Batched, 'clock' | 'store'>): Promise<number> {
  const start = clock.now()
  let end = NaN
  store.close().catch(() => {}).then(() => { end = clock.now() })
  await clock.pass(62_000)
  return end - start
}

t.test('a store that fails is closed at once: what is pending is not stored, and not sent', async t => {
  const { clock, writer, store, outcomes, create } = batchedStore()
  writer.respond = () => notStored()
  await create([1])
  create([2])
  t.equal(await timeToClose({ clock, store }), 0)
  t.match([...outcomes.values()], [{ message: 'away' }, { name: 'PlantNotStored' }])
  t.equal(writer.batches.length, 1)
})

t.test('close waits a second longer than the last deadline for a write, and sends no plant again', async t => {
  const { clock, writer, store, outcomes, create } = batchedStore(2)
  await create([1], 1_000)
  await create([2, 3], 1_000)
  await clock.pass(TICK)
  writer.batches[1]?.answer([new PlantOutcomeUnknown('away'), new PlantOutcomeUnknown('away')])
  await clock.turns()
  store.close()
  await clock.pass(1_900)
  writer.batches[0]?.answer('stored')
  await clock.turns()
  t.match(Object.fromEntries(outcomes), { 1: 'stored', 2: { message: 'away' }, 3: { message: 'away' } })
  t.equal(writer.batches.length, 2)
})

t.test('close ends soon after the last deadline if a write never does, and after a minute at the latest', async t => {
  for (const [timeout, limit] of [[5_000, 6_100], [Infinity, 61_100]] as const) {
    const { clock, writer, store, outcomes, create } = batchedStore()
    create([4], Infinity)
    await clock.turns()
    writer.batches[0]?.answer('stored')
    await clock.turns()
    await create([1, 2], timeout)
    create([3], timeout)
    const time = await timeToClose({ clock, store })
    t.ok(time > limit - 1_200 && time < limit, `${time} ms`)
    const unknown = { name: 'PlantOutcomeUnknown' }
    t.match(Object.fromEntries(outcomes), { 1: unknown, 2: unknown, 3: { name: 'PlantNotStored' }, 4: 'stored' })
  }
})

t.test('the diagnostics channels report the start and the completion of each batch', async t => {
  const observed: object[] = []
  const observe = (message: unknown, name: string | symbol) => { observed.push({ name, ...Object(message) }) }
  const [start, end] = ['plant-store:batch:start', 'plant-store:batch:end'] as const
  subscribe(start, observe)
  subscribe(end, observe)
  t.teardown(() => unsubscribe(start, observe))
  t.teardown(() => unsubscribe(end, observe))
  const { clock, writer, create } = batchedStore()
  await create([1, 2])
  await clock.pass(7)
  writer.batches[0]?.answer([notStored(), 'stored'])
  await clock.pass(25 + TICK)
  t.strictSame(observed, [
    { name: start, plants: 2, milliseconds: undefined, retries: 0 },
    { name: end, plants: 2, milliseconds: 7, retries: 1 },
    { name: start, plants: 1, milliseconds: undefined, retries: 0 }
  ])
})

/** A store that is ready, and whose plants have time for one attempt only. */
async function readyStore () {
  const fakes = batchedStore()
  const { clock, store, writer, create } = fakes
  await store.ready()
  writer.checks.splice(0)
  return {
    ...fakes,
    async create (...ids: number[]): Promise<void> {
      await create(ids, 60)
      await clock.pass(1_060)
    }
  }
}

t.test('after a failed write, a store is ready only if a thorough check passes', async t => {
  async function needsThoroughCheck ({ store, writer }: Omit<Batched, 'create'>): Promise<void> {
    writer.fault = new Error('not authorized')
    await t.rejects(store.ready(), { message: 'not authorized' })
    writer.fault = undefined
    await t.resolves(store.ready())
    await t.resolves(store.ready())
    t.strictSame(writer.checks, [true, true, false])
  }

  for (const failure of [
    notStored(), notStored('disk full', true), new PlantOutcomeUnknown('away'), [new PlantOutcomeUnknown('away')]
  ]) {
    const ready = await readyStore()
    ready.writer.respond = () => failure
    await ready.create(1)
    await needsThoroughCheck(ready)
  }
})

t.test('a store is not ready for a second after a failed write, or until a write stores or finds a plant', async t => {
  const { clock, store, writer, create } = batchedStore()
  writer.respond = () => notStored('disk full', true)
  await create([1])
  await t.rejects(store.ready(), { message: 'disk full' })
  await clock.pass(1_000)
  await t.resolves(store.ready())
  await create([1])
  writer.respond = () => 'same'
  await create([2])
  await t.resolves(store.ready())
  t.strictSame(writer.checks, [true, false])
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
  await t.rejects(ready, { message: 'away' })
  writer.check = check
  await store.ready()
  t.strictSame(writer.checks, [true])
})

t.test('a plant that fails while others are stored is no fault of the store, nor a sign that one is over', async t => {
  const { store, writer, create } = await readyStore()
  writer.respond = () => [notStored('not valid', true)]
  await create(1)
  writer.respond = () => [notStored('odd'), 'stored']
  await create(2, 3)
  await t.resolves(store.ready())
  writer.respond = () => notStored('disk full', true)
  await create(4)
  writer.respond = () => [notStored('not valid', true)]
  await create(5)
  await t.resolves(store.ready())
  t.strictSame(writer.checks, [false, true])
})

t.test('a delay of a timer may be negative, or longer than Node accepts, without a warning', async t => {
  const warnings: Error[] = []
  const note = (warning: Error): void => { warnings.push(warning) }
  process.on('warning', note)
  t.teardown(() => { process.off('warning', note) })
  let calls = 0
  const distant = [2 ** 31, 2 ** 40, Infinity].map(delay => systemClock.setTimeout(() => { calls++ }, delay))
  await new Promise<void>(resolve => { systemClock.setTimeout(resolve, -1_000) })
  await sleep(10)
  for (const timer of distant) systemClock.clearTimeout(timer)
  t.equal(calls, 0)
  t.strictSame(warnings, [])
})

t.test('a plant costs less than 8 times as much with 50,000 pending as with 1,000, little in an outage', async t => {
  // In a separate process: tap tracks every promise.
  const script = fileURLToPath(new URL('queue-cost.js', import.meta.url))
  const output = execFileSync(process.execPath, ['--max-semi-space-size=256', script, '1000', '50000'], { env: {} })
  const { costs, outOfOrder, shareInAnOutage } = JSON.parse(output.toString())
  t.comment(output.toString())
  t.ok(costs[50_000] < 8 * costs[1_000])
  t.ok(outOfOrder < 8 * costs[1_000], 'nor if their deadlines are not in order')
  t.ok(shareInAnOutage < 0.2)
})
