import assert from 'node:assert/strict'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable, type CreateOutcome, type NewPlant, type PlantStore } from './plant-store.js'

/** Where the plants of one check are stored, empty at its start. Checks that need an omitted part are skipped. */
export interface StorePlace {
  /** The store to check, not open yet. The check opens and closes it. */
  store: PlantStore
  /**
   * Makes another store of the same plants, not open yet, as in another process or after a restart. Checks use it to
   * look for plants after the store was closed, and to create them on two stores at once.
   */
  another?: (() => PlantStore) | undefined
  /** Reads everything that is stored, by id, not through the store, so that fields that are not a plant's are found. */
  stored?: (() => StoredPlants | Promise<StoredPlants>) | undefined
  /** Removes the place. Called after the check, when all its stores are closed. */
  cleanup?: (() => unknown) | undefined
}

/** Plants by id. */
export type StoredPlants = ReadonlyMap<bigint, object>

/** Makes a new place for each check. */
export type NewStorePlace = () => StorePlace | Promise<StorePlace>

/** A check of one promise of `PlantStore`. */
export interface StoreCheck {
  /** The promise as a sentence, which can name a test. */
  readonly name: string
  /**
   * Checks the promise at a place of its own.
   * @returns the reason why the check was skipped, if the store or the place lacks what it needs
   * @throws {AssertionError} if the store breaks the promise
   */
  readonly check: (newPlace: NewStorePlace) => Promise<string | undefined>
}

interface OpenPlace extends StorePlace {
  create: (plant: NewPlant) => Promise<CreateOutcome>
  /** Opens a store, which is closed after the check. */
  open: (store: PlantStore) => Promise<PlantStore>
}

type Sentence = (place: OpenPlace) => Promise<string | undefined | void>

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
  checkOf('a plant whose create has resolved is found by a store that is opened later', async ({ store, create, open, another, stored }) => {
    assert.equal(await create(MONSTERA), 'stored')
    if (stored !== undefined) assert.deepEqual(await stored(), plants(MONSTERA))
    await store.close?.()
    if (another === undefined) return stored === undefined ? 'the place has neither another store nor stored' : undefined
    const later = await open(another())
    assert.equal(await later.create({ ...MONSTERA }, soon()), 'same')
    assert.equal(await later.create({ ...MONSTERA, name: 'Ficus' }, soon()), 'taken')
  }),

  checkOf('id, name and tag are exact to the last digit and character, and the same plant is distinguished from any other', async ({ create, stored }) => {
    const exact = [
      ...IDS.map((id): NewPlant => ({ id, name: `plant ${id}` })),
      ...TEXTS.map((text, place): NewPlant => ({ id: BigInt(100 + place), name: text, tag: text }))
    ]
    await outcomesAre('stored', exact, create)
    const there = await stored?.()
    if (there !== undefined) {
      for (const plant of exact) assert.deepEqual(there.get(plant.id), fieldsOf(plant), `${describe(plant)} is kept unchanged`)
      assert.equal(there.size, exact.length)
    }
    await outcomesAre('same', exact, create)
    await outcomesAre('taken', exact.map(plant => ({ ...plant, name: `${plant.name}\0` })), create)
    await outcomesAre('taken', exact.map(plant => ({ ...plant, tag: `${plant.tag ?? ''}\0` })), create)
    await outcomesAre('taken', exact.map(({ tag, ...plant }) => tag === undefined ? { ...plant, tag: '' } : plant), create)
  }),

  checkOf('another plant with an existing id is taken, and changes nothing; the store does not change the plants passed to it', async ({ store, create, stored }) => {
    const given = Object.freeze({ ...MONSTERA })
    assert.equal(await store.create(given, soon()), 'stored')
    assert.equal(await store.create(given, soon()), 'same')
    assert.equal(await create(FERN), 'stored')
    await outcomesAre('taken', [
      { id: 1n, name: 'Monstera' }, { id: 1n, name: 'Monstera', tag: '' }, { id: 1n, name: 'Monstera', tag: 'Aroid' },
      { id: 1n, name: 'monstera', tag: 'aroid' }, { id: 1n, name: 'Monstera ', tag: 'aroid' }, { id: 2n, name: 'Fern', tag: '' }
    ], create)
    await outcomesAre('same', [MONSTERA, FERN], create)
    if (stored !== undefined) assert.deepEqual(await stored(), plants(MONSTERA, FERN))
  }),

  checkOf('of plants created at once with one id exactly one is stored; the same plant is same, others are taken', async ({ create, open, another, stored }) => {
    const second = another === undefined ? undefined : await open(another())
    const names = Array.from({ length: 40 }, (_, place) => `plant ${place}`)
    const outcomes = await Promise.all(names.map((name, place) =>
      place % 2 === 1 && second !== undefined ? second.create({ id: 7n, name }, soon()) : create({ id: 7n, name })))
    assert.deepEqual(counted(outcomes), { stored: 1, taken: 39 })
    const again = await Promise.all(names.map(() => create({ ...MONSTERA, id: 8n })))
    assert.deepEqual(counted(again), { stored: 1, same: 39 })
    const first = { id: 7n, name: names[outcomes.indexOf('stored')] ?? '' }
    assert.equal(await create(first), 'same', 'the stored plant is the one that was acknowledged')
    if (stored !== undefined) assert.deepEqual(await stored(), plants(first, { ...MONSTERA, id: 8n }))
  }),

  checkOf('thousands of plants created at once are all stored', async ({ create, stored }) => {
    const many = Array.from({ length: 3_000 }, (_, id): NewPlant => ({ id: BigInt(id), name: `plant ${id}` }))
    assert.deepEqual(counted(await Promise.all(many.map(create))), { stored: 3_000 })
    if (stored !== undefined) assert.equal((await stored()).size, 3_000)
  }),

  checkOf('a plant whose deadline has passed gets a truthful outcome', async ({ store, create }) => {
    const outcome = await outcomeOf(store.create({ ...FERN }, performance.now() - 1))
    if (outcome !== 'perhaps') assert.equal(await create(FERN), outcome === 'not stored' ? 'stored' : 'same')
  }),

  checkOf('open resolves to whether it opened the store; a closed store stays closed', async ({ store }) => {
    if (store.open === undefined) return 'the store has no open'
    assert.equal(await store.open(), true, 'the first call opens it')
    assert.equal(await store.open(), false, 'the second finds it open')
    if (store.close === undefined) return
    await store.close()
    await assert.rejects(async () => store.open?.(), StoreUnusable, 'once closed, it cannot be opened again')
  }, { opened: false }),

  checkOf('an open store is ready, and a closed one is not', async ({ store }) => {
    if (store.ready === undefined) return 'the store has no ready'
    await store.ready()
    if (store.close === undefined) return
    await store.close()
    await assert.rejects(async () => store.ready?.(), 'a closed store is not ready')
  }),

  checkOf('a plant that is created after close is not stored', async ({ store, create, open, another, stored }) => {
    if (store.close === undefined) return 'the store has no close'
    assert.equal(await create(MONSTERA), 'stored')
    await store.close()
    assert.equal(await outcomeOf(create(FERN)), 'not stored')
    if (stored !== undefined) assert.deepEqual(await stored(), plants(MONSTERA))
    if (another !== undefined) assert.equal(await (await open(another())).create({ ...FERN }, soon()), 'stored')
  }),

  checkOf('close waits for writes in flight, even if it is called twice at once', async ({ store, create, open, another, stored }) => {
    if (store.close === undefined) return 'the store has no close'
    const sent = [1n, 2n, 3n].map((id): NewPlant => ({ id, name: 'Ficus' }))
    const outcomes = Promise.all(sent.map(plant => outcomeOf(create(plant))))
    await Promise.all([store.close(), store.close()])
    const results = await outcomes
    const kept = sent.filter((_, place) => results[place] === 'stored')
    if (stored !== undefined && !results.includes('perhaps')) assert.deepEqual(await stored(), plants(...kept))
    if (another === undefined) return
    const later = await open(another())
    await outcomesAre('same', kept, plant => later.create({ ...plant }, soon()))
  }),

  checkOf('close may be called twice, and on a store that was never opened', async ({ store }) => {
    if (store.close === undefined) return 'the store has no close'
    await store.close()
    await store.close()
  }, { opened: false })
]

function checkOf (name: string, sentence: Sentence, { opened = true } = {}): StoreCheck {
  async function check (newPlace: NewStorePlace): Promise<string | undefined> {
    const place = await newPlace()
    const { store } = place
    const stores: PlantStore[] = [store]
    async function open (store: PlantStore): Promise<PlantStore> {
      stores.push(store)
      await store.open?.()
      return store
    }
    try {
      if (opened) await store.open?.()
      return await sentence({ ...place, create: plant => store.create({ ...plant }, soon()), open }) ?? undefined
    } finally {
      await Promise.allSettled(stores.map(store => store.close?.()))
      await place.cleanup?.()
    }
  }
  return { name, check }
}

function soon (): number {
  return performance.now() + 10_000
}

function plants (...all: NewPlant[]): StoredPlants {
  return new Map(all.map(plant => [plant.id, fieldsOf(plant)]))
}

function fieldsOf ({ id, ...fields }: NewPlant): object {
  return fields
}

async function outcomesAre (
  expected: CreateOutcome, created: NewPlant[], create: (plant: NewPlant) => Promise<CreateOutcome>
): Promise<void> {
  const outcomes = await Promise.all(created.map(create))
  for (const [place, plant] of created.entries()) assert.equal(outcomes[place], expected, `${describe(plant)} is ${outcomes[place]}, not ${expected}`)
}

/** The outcome of a call of `create` that may reject. */
async function outcomeOf (create: Promise<CreateOutcome>): Promise<CreateOutcome | 'not stored' | 'perhaps'> {
  try {
    return await create
  } catch (error) {
    if (error instanceof PlantNotStored) return 'not stored'
    if (error instanceof PlantOutcomeUnknown) return 'perhaps'
    throw error
  }
}

function counted (outcomes: CreateOutcome[]): Partial<Record<CreateOutcome, number>> {
  const counts: Partial<Record<CreateOutcome, number>> = {}
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}

/** Describes a plant in a message: strings that look the same on a terminal look different here. */
function describe ({ id, name, tag }: NewPlant): string {
  return `plant ${id} (name ${JSON.stringify(name.slice(0, 20))}, ${tag === undefined ? 'no tag' : `tag ${JSON.stringify(tag.slice(0, 20))}`})`
}
