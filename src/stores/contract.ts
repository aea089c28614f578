import assert from 'node:assert/strict'
import type { NewPlant } from '../plant.js'
import type { CreateOutcome, PlantStore } from './store.js'

/** The store of one check, without plants at its start. Checks that need an omitted part are skipped. */
export interface StoreSetup {
  /** Not open yet. The check opens and closes it. */
  store: PlantStore
  /** Makes another store of the same plants, not open yet, as in another process or after a restart. */
  another?: (() => PlantStore) | undefined
  /** Reads everything that is stored, by id, not through the store, so that fields that are not a plant's are found. */
  stored?: (() => ReadonlyMap<bigint, object> | Promise<ReadonlyMap<bigint, object>>) | undefined
  /** Removes the plants. Called after the check, when all its stores are closed. */
  cleanup?: (() => unknown) | undefined
}

/** Makes a new store for each check. */
export type NewStoreSetup = () => StoreSetup | Promise<StoreSetup>

export interface StoreCheck {
  /** A promise of `PlantStore` as a sentence, which can name a test. */
  readonly name: string
  /**
   * Checks the promise on a store of its own.
   * @returns the reason why the check was skipped, if the store or its setup lacks what it needs
   * @throws {AssertionError} if the store breaks the promise
   */
  readonly check: (newSetup: NewStoreSetup) => Promise<string | undefined>
}

/** Creates a copy of a plant, with time enough. */
type Create = (plant: NewPlant) => Promise<CreateOutcome>

/** `open` opens a store, which is closed after the check; `holds` checks that exactly these plants are stored. */
interface OpenSetup extends StoreSetup {
  create: Create
  open: (store: PlantStore) => Promise<Create>
  holds: (...plants: NewPlant[]) => Promise<void>
}

const MONSTERA: NewPlant = { id: 1n, name: 'Monstera', tag: 'aroid' }
const FERN: NewPlant = { id: 2n, name: 'Fern' }
const IDS = [
  0n, 1n, -1n, 2n ** 31n, -(2n ** 31n) - 1n,
  2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)
]
const TEXTS = [
  '', ' ', '\0', 'nul\0inside', '\u2028\u2029', '\u{10ffff}', 'e\u0301', '\u00e9', '\ufeff', '\ufffd', '\uffff',
  '$name.first', '__proto__', 'x'.repeat(100_000)
]

/** What TypeScript does not accept as a plant, and JavaScript does. */
const NO_PLANTS: readonly unknown[] = [
  undefined, null, 'Ficus', {}, { id: 3n }, { name: 'Ficus' }, { id: 3, name: 'Ficus' }, { id: '3', name: 'Ficus' },
  { id: 3n, name: null }, { id: 3n, name: 3 }, { id: 3n, name: 'Ficus', tag: null }, { id: 3n, name: 'Ficus', tag: 3 }
]

/**
 * All promises of `PlantStore`, to test your own store with any test runner:
 *
 * ```ts
 * for (const { name, check } of plantStoreContract) {
 *   test(name, async t => {
 *     const skipped = await check(() => ({ store: memoryPlantStore() }))
 *     if (skipped !== undefined) t.skip(skipped)
 *   })
 * }
 * ```
 *
 * The stores of this package pass the same checks. Two promises cannot be checked on a healthy store: that plants
 * survive a power failure, and that errors are truthful.
 */
export const plantStoreContract: readonly StoreCheck[] = [
  checkOf('a plant whose create has resolved is found by a store that is opened later', async ({ store, create, open, another, stored, holds }) => {
    assert.equal(await create(MONSTERA), 'stored')
    await holds(MONSTERA)
    await store.close?.()
    if (another === undefined) return stored === undefined ? 'neither another nor stored is given' : undefined
    const createLater = await open(another())
    assert.equal(await createLater(MONSTERA), 'same')
    assert.equal(await createLater({ ...MONSTERA, name: 'Ficus' }), 'taken')
  }),

  checkOf('id, name and tag are exact to the last digit and character, and the same plant is distinguished from any other', async ({ create, holds }) => {
    const exact = [
      ...IDS.map((id): NewPlant => ({ id, name: `plant ${id}` })),
      ...TEXTS.map((text, index): NewPlant => ({ id: BigInt(100 + index), name: text, tag: text }))
    ]
    await outcomesAre('stored', exact, create)
    await holds(...exact)
    await outcomesAre('same', exact, create)
    await outcomesAre('taken', exact.map(plant => ({ ...plant, name: `${plant.name}\0` })), create)
    await outcomesAre('taken', exact.map(plant => ({ ...plant, tag: `${plant.tag ?? ''}\0` })), create)
    const otherwiseTagged = exact.map(({ tag, ...plant }) => tag === undefined ? { ...plant, tag: '' } : plant)
    await outcomesAre('taken', otherwiseTagged, create)
  }),

  checkOf('another plant with an existing id is taken, and changes nothing; the store does not change the plants passed to it', async ({ store, create, holds }) => {
    const given = Object.freeze({ ...MONSTERA })
    assert.equal(await store.create(given, soon()), 'stored')
    assert.equal(await store.create(given, soon()), 'same')
    assert.equal(await create(FERN), 'stored')
    await outcomesAre('taken', [
      { id: 1n, name: 'Monstera' }, { id: 1n, name: 'Monstera', tag: '' }, { id: 1n, name: 'Monstera', tag: 'Aroid' },
      { id: 1n, name: 'monstera', tag: 'aroid' }, { id: 1n, name: 'Monstera ', tag: 'aroid' }, { ...FERN, tag: '' }
    ], create)
    await outcomesAre('same', [MONSTERA, FERN], create)
    await holds(MONSTERA, FERN)
  }),

  checkOf('of plants created at once with one id exactly one is stored; the same plant is same, others are taken', async ({ create, open, another, holds }) => {
    const createToo = another === undefined ? create : await open(another())
    const names = Array.from({ length: 40 }, (_, index) => `plant ${index}`)
    const outcomes = await Promise.all(names.map((name, i) => (i % 2 === 0 ? create : createToo)({ id: 7n, name })))
    assert.deepEqual(outcomes.toSorted(), ['stored', ...new Array(39).fill('taken')])
    const again = await Promise.all(names.map(() => create({ ...MONSTERA, id: 8n })))
    assert.deepEqual(again.toSorted(), [...new Array(39).fill('same'), 'stored'])
    const first = { id: 7n, name: names[outcomes.indexOf('stored')] ?? '' }
    assert.equal(await create(first), 'same', 'the stored plant is the one that was acknowledged')
    await holds(first, { ...MONSTERA, id: 8n })
  }),

  checkOf('a plant whose deadline has passed gets a truthful outcome', async ({ store, create }) => {
    const outcome = await outcomeOf(store.create({ ...FERN }, performance.now() - 1))
    if (outcome !== 'unknown') assert.equal(await create(FERN), outcome === 'not stored' ? 'stored' : 'same')
  }),

  checkOf('open resolves to whether it opened the store, which is then ready; a closed store stays closed, and is not ready', async ({ store }) => {
    if (store.open === undefined) return 'the store has no open'
    assert.equal(await store.open(), true, 'the first call opens it')
    assert.equal(await store.open(), false, 'the second finds it open')
    await store.ready?.()
    if (store.close === undefined) return
    await store.close()
    const unusable = { name: 'StoreUnusable' }
    await assert.rejects(async () => store.open?.(), unusable, 'once closed, it cannot be opened again')
    if (store.ready !== undefined) await assert.rejects(async () => store.ready?.(), 'a closed store is not ready')
  }, { opened: false }),

  checkOf('close waits for writes in flight, even if it is called twice at once; a plant that is created after close is not stored', async ({ store, create, open, another, holds }) => {
    if (store.close === undefined) return 'the store has no close'
    const sent = [1n, 2n, 3n].map((id): NewPlant => ({ id, name: 'Ficus' }))
    const pending = Promise.all(sent.map(plant => outcomeOf(create(plant))))
    await Promise.all([store.close(), store.close()])
    const late = { id: 4n, name: 'Fern' }
    assert.equal(await outcomeOf(create(late)), 'not stored')
    const outcomes = await pending
    const kept = sent.filter((_, index) => outcomes[index] === 'stored')
    if (!outcomes.includes('unknown')) await holds(...kept)
    if (another === undefined) return
    const createLater = await open(another())
    await outcomesAre('same', kept, createLater)
    assert.equal(await createLater(late), 'stored')
  }),

  checkOf('a store that was never opened can be closed', async ({ store }) => {
    if (store.close === undefined) return 'the store has no close'
    await store.close()
  }, { opened: false }),

  checkOf('a create of what is not a plant rejects, and changes nothing', async ({ store, create, holds }) => {
    const rejected = NO_PLANTS.map(plant => assert.rejects(store.create(plant as NewPlant, soon())))
    await Promise.all([...rejected, create(MONSTERA)])
    await holds(MONSTERA)
    assert.equal(await create({ id: 3n, name: 'Ficus' }), 'stored')
  })
]

/** Makes a check of a promise: its sentence gets an open store, which is closed afterwards. */
function checkOf (
  name: string, sentence: (setup: OpenSetup) => Promise<string | undefined | void>, { opened = true } = {}
): StoreCheck {
  async function check (newSetup: NewStoreSetup): Promise<string | undefined> {
    const setup = await newSetup()
    const { store } = setup
    const stores = new Set([store])
    const create: Create = plant => store.create({ ...plant }, soon())
    async function open (store: PlantStore): Promise<Create> {
      stores.add(store)
      await store.open?.()
      return plant => store.create({ ...plant }, soon())
    }
    async function holds (...plants: NewPlant[]): Promise<void> {
      const there = await setup.stored?.()
      if (there === undefined) return
      for (const { id, ...fields } of plants) assert.deepEqual(there.get(id), fields, `plant ${id} is kept unchanged`)
      assert.equal(there.size, plants.length, 'nothing else is stored')
    }
    try {
      if (opened) await open(store)
      return await sentence({ ...setup, create, open, holds }) ?? undefined
    } finally {
      await Promise.allSettled([...stores].map(store => store.close?.()))
      await setup.cleanup?.()
    }
  }
  return { name, check }
}

function soon (): number {
  return performance.now() + 10_000
}

async function outcomesAre (expected: CreateOutcome, plants: NewPlant[], create: Create): Promise<void> {
  const outcomes = await Promise.all(plants.map(create))
  for (const [index, { id }] of plants.entries()) {
    assert.equal(outcomes[index], expected, `plant ${id} is ${outcomes[index]}, not ${expected}`)
  }
}

/** The outcome of a call of `create` that may reject. */
async function outcomeOf (create: Promise<CreateOutcome>): Promise<CreateOutcome | 'not stored' | 'unknown'> {
  try {
    return await create
  } catch (error) {
    const { name } = Object(error)
    if (name === 'PlantNotStored') return 'not stored'
    if (name === 'PlantOutcomeUnknown') return 'unknown'
    throw error
  }
}
