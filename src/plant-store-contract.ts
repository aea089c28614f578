import assert from 'node:assert/strict'
import { PlantNotStored, PlantPerhapsStored, StoreUnusable, type CreateOutcome, type NewPlant, type PlantStore } from './stores/plant-store.js'

/** A place for the plants of one check, empty at its start. What it leaves out is not looked at. */
export interface StorePlace {
  /** The store that is checked, not open yet. The check opens and closes it. */
  store: PlantStore
  /**
   * Makes another store of the same plants, not open yet, as another process or a later start has it. With it, plants are
   * looked for after the store was closed, and created on two stores at once.
   */
  another?: (() => PlantStore) | undefined
  /** Everything that is stored, by id, read past the store: fields that are not a plant's are found by it. */
  stored?: (() => StoredPlants | Promise<StoredPlants>) | undefined
  /** Takes the place away; called at the end of the check, when all its stores are closed. */
  end?: (() => unknown) | undefined
}

/** Plants by their ids. */
export type StoredPlants = ReadonlyMap<bigint, object>

/** Makes a new place for each check. */
export type NewStorePlace = () => StorePlace | Promise<StorePlace>

/** One sentence of what `PlantStore` promises. */
export interface StoreCheck {
  /** The sentence, as the name of a test. */
  readonly name: string
  /**
   * Checks it at a place of its own.
   * @returns why nothing was looked at, where the store or the place lacks what it takes
   * @throws {AssertionError} where the store breaks the promise
   */
  readonly check: (newPlace: NewStorePlace) => Promise<string | undefined>
}

interface OpenPlace extends StorePlace {
  create: (plant: NewPlant) => Promise<CreateOutcome>
  /** Opens a store, which is closed with the check. */
  open: (store: PlantStore) => Promise<PlantStore>
}

type Sentence = (place: OpenPlace) => Promise<string | undefined | void>

const MONSTERA: NewPlant = { id: 1n, name: 'Monstera', tag: 'aroid' }
const FERN: NewPlant = { id: 2n, name: 'Fern' }
const IDS = [0n, 1n, -1n, 2n ** 31n, -(2n ** 31n) - 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)]
const TEXTS = [
  '', ' ', '\0', 'nul\0inside', '\u2028\u2029', '\u{10ffff}', '🪴 Zimmerpflanze', 'e\u0301', '\u00e9', '\ufeff', '\ufffd', '\uffff',
  '$name.first', '__proto__', 'x'.repeat(100_000)
]

/**
 * Everything that a `PlantStore` promises, for the tests of a store of one's own, with any test runner:
 *
 * ```ts
 * for (const { name, check } of plantStoreContract) {
 *   test(name, async t => {
 *     const skipped = await check(() => ({ store: new MemoryPlantStore() }))
 *     if (skipped !== undefined) t.skip(skipped)
 *   })
 * }
 * ```
 *
 * The stores of this package are tested by the very same. What no healthy store shows it cannot check: that a plant
 * survives the end of the machine, and that failures tell the truth.
 */
export const plantStoreContract: readonly StoreCheck[] = [
  checkOf('a plant whose create has resolved is there for a store that is opened later', async ({ store, create, open, another, stored }) => {
    assert.equal(await create(MONSTERA), 'stored')
    if (stored !== undefined) assert.deepEqual(await stored(), plants(MONSTERA))
    await store.close?.()
    if (another === undefined) return stored === undefined ? 'the place has neither another store nor stored' : undefined
    const later = await open(another())
    assert.equal(await later.create({ ...MONSTERA }, soon()), 'same')
    assert.equal(await later.create({ ...MONSTERA, name: 'Ficus' }, soon()), 'taken')
  }),

  checkOf('id, name and tag are kept to the last digit and character, and the very same plant is told from any other', async ({ create, stored }) => {
    const exact = [
      ...IDS.map((id): NewPlant => ({ id, name: `plant ${id}` })),
      ...TEXTS.map((text, place): NewPlant => ({ id: BigInt(100 + place), name: text, tag: text }))
    ]
    await outcomesAre('stored', exact, create)
    const there = await stored?.()
    if (there !== undefined) {
      for (const plant of exact) assert.deepEqual(there.get(plant.id), fieldsOf(plant), `${told(plant)} is kept as it is`)
      assert.equal(there.size, exact.length)
    }
    await outcomesAre('same', exact, create)
    await outcomesAre('taken', exact.map(plant => ({ ...plant, name: `${plant.name}\0` })), create)
    await outcomesAre('taken', exact.map(plant => ({ ...plant, tag: `${plant.tag ?? ''}\0` })), create)
    await outcomesAre('taken', exact.map(({ tag, ...plant }) => tag === undefined ? { ...plant, tag: '' } : plant), create)
  }),

  checkOf('another plant under an id that is there is taken, and changes nothing; the store writes to no plant that it is given', async ({ store, create, stored }) => {
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

  checkOf('of plants created at once under one id exactly one is stored; others are taken, and the same are the same', async ({ create, open, another, stored }) => {
    const second = another === undefined ? undefined : await open(another())
    const names = Array.from({ length: 40 }, (_, place) => `plant ${place}`)
    const outcomes = await Promise.all(names.map((name, place) =>
      place % 2 === 1 && second !== undefined ? second.create({ id: 7n, name }, soon()) : create({ id: 7n, name })))
    assert.deepEqual(counted(outcomes), { stored: 1, taken: 39 })
    const again = await Promise.all(names.map(() => create({ ...MONSTERA, id: 8n })))
    assert.deepEqual(counted(again), { stored: 1, same: 39 })
    const first = { id: 7n, name: names[outcomes.indexOf('stored')] as string }
    assert.equal(await create(first), 'same', 'the one that was stored is the one that is there')
    if (stored !== undefined) assert.deepEqual(await stored(), plants(first, { ...MONSTERA, id: 8n }))
  }),

  checkOf('thousands of creates at once are all stored', async ({ create, stored }) => {
    const many = Array.from({ length: 3_000 }, (_, id): NewPlant => ({ id: BigInt(id), name: `plant ${id}` }))
    assert.deepEqual(counted(await Promise.all(many.map(create))), { stored: 3_000 })
    if (stored !== undefined) assert.equal((await stored()).size, 3_000)
  }),

  checkOf('what becomes of a plant that is past its deadline is told truthfully', async ({ store, create }) => {
    const outcome = await outcomeOf(store.create({ ...FERN }, performance.now() - 1))
    if (outcome !== 'perhaps') assert.equal(await create(FERN), outcome === 'not stored' ? 'stored' : 'same')
  }),

  checkOf('open tells who has opened the store; once closed, it stays so', async ({ store }) => {
    if (store.open === undefined) return 'the store has no open'
    assert.equal(await store.open(), true, 'the first call opens it')
    assert.equal(await store.open(), false, 'the second finds it open')
    if (store.close === undefined) return
    await store.close()
    await assert.rejects(async () => store.open?.(), StoreUnusable, 'once closed, it cannot be opened again')
  }, { opened: false }),

  checkOf('a store that can take plants is ready, and one that is closed is not', async ({ store }) => {
    if (store.ready === undefined) return 'the store has no ready'
    await store.ready()
    if (store.close === undefined) return
    await store.close()
    await assert.rejects(async () => store.ready?.(), 'a closed store is not ready')
  }),

  checkOf('a create that comes after close is surely not stored', async ({ store, create, open, another, stored }) => {
    if (store.close === undefined) return 'the store has no close'
    assert.equal(await create(MONSTERA), 'stored')
    await store.close()
    assert.equal(await outcomeOf(create(FERN)), 'not stored')
    if (stored !== undefined) assert.deepEqual(await stored(), plants(MONSTERA))
    if (another !== undefined) assert.equal(await (await open(another())).create({ ...FERN }, soon()), 'stored')
  }),

  checkOf('close lets what was sent come to its end, also where it is called twice at once', async ({ store, create, open, another, stored }) => {
    if (store.close === undefined) return 'the store has no close'
    const sent = [1n, 2n, 3n].map((id): NewPlant => ({ id, name: 'Ficus' }))
    const outcomes = Promise.all(sent.map(plant => outcomeOf(create(plant))))
    await Promise.all([store.close(), store.close()])
    const ends = await outcomes
    const kept = sent.filter((_, place) => ends[place] === 'stored')
    if (stored !== undefined && !ends.includes('perhaps')) assert.deepEqual(await stored(), plants(...kept))
    if (another === undefined) return
    const later = await open(another())
    await outcomesAre('same', kept, plant => later.create({ ...plant }, soon()))
  }),

  checkOf('close is fine on a store that was never opened, and twice', async ({ store }) => {
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
      await place.end?.()
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

async function outcomesAre (expected: CreateOutcome, created: NewPlant[], create: (plant: NewPlant) => Promise<CreateOutcome>): Promise<void> {
  const outcomes = await Promise.all(created.map(create))
  for (const [place, outcome] of outcomes.entries()) assert.equal(outcome, expected, `${told(created[place] as NewPlant)} is ${outcome}, not ${expected}`)
}

/** What became of a create that may fail. */
async function outcomeOf (create: Promise<CreateOutcome>): Promise<CreateOutcome | 'not stored' | 'perhaps'> {
  try {
    return await create
  } catch (error) {
    if (error instanceof PlantNotStored) return 'not stored'
    if (error instanceof PlantPerhapsStored) return 'perhaps'
    throw error
  }
}

function counted (outcomes: CreateOutcome[]): Partial<Record<CreateOutcome, number>> {
  const counts: Partial<Record<CreateOutcome, number>> = {}
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}

/** A plant in a message: texts that differ in what no terminal shows differ here. */
function told ({ id, name, tag }: NewPlant): string {
  return `plant ${id} (name ${JSON.stringify(name.slice(0, 20))}, ${tag === undefined ? 'no tag' : `tag ${JSON.stringify(tag.slice(0, 20))}`})`
}
