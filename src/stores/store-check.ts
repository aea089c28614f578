import assert from 'node:assert/strict'
import {
  PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant, type PlantStore
} from './plant-store.js'

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

type Create = (plant: NewPlant) => Promise<CreateOutcome>

interface OpenSetup extends StoreSetup {
  /** Creates a copy of a plant, with time enough. */
  create: Create
  /** Opens a store, which is closed after the check, and returns its `create`. */
  open: (store: PlantStore) => Promise<Create>
  /** Checks that exactly these plants are stored, if that can be seen. */
  holds: (...plants: NewPlant[]) => Promise<void>
}

/** Makes a check of a promise: its sentence gets an open store, which is closed afterwards. */
export function checkOf (
  name: string, sentence: (setup: OpenSetup) => Promise<string | undefined | void>, { opened = true } = {}
): StoreCheck {
  async function check (newSetup: NewStoreSetup): Promise<string | undefined> {
    const setup = await newSetup()
    const { store } = setup
    const stores = new Set([store])
    const createIn = (store: PlantStore): Create => plant => store.create({ ...plant }, soon())
    async function open (store: PlantStore): Promise<Create> {
      stores.add(store)
      await store.open?.()
      return createIn(store)
    }
    async function holds (...plants: NewPlant[]): Promise<void> {
      const there = await setup.stored?.()
      if (there === undefined) return
      for (const { id, ...fields } of plants) assert.deepEqual(there.get(id), fields, `plant ${id} is kept unchanged`)
      assert.equal(there.size, plants.length, 'nothing else is stored')
    }
    try {
      if (opened) await open(store)
      return await sentence({ ...setup, create: createIn(store), open, holds }) ?? undefined
    } finally {
      await Promise.allSettled([...stores].map(store => store.close?.()))
      await setup.cleanup?.()
    }
  }
  return { name, check }
}

export function soon (): number {
  return performance.now() + 10_000
}

export async function outcomesAre (expected: CreateOutcome, plants: NewPlant[], create: Create): Promise<void> {
  const outcomes = await Promise.all(plants.map(create))
  for (const [index, { id, name }] of plants.entries()) {
    const plant = `plant ${id} ${JSON.stringify(name.slice(0, 20))}`
    assert.equal(outcomes[index], expected, `${plant} is ${outcomes[index]}, not ${expected}`)
  }
}

/** The outcome of a call of `create` that may reject. */
export async function outcomeOf (create: Promise<CreateOutcome>): Promise<CreateOutcome | 'not stored' | 'unknown'> {
  try {
    return await create
  } catch (error) {
    if (error instanceof PlantNotStored) return 'not stored'
    if (error instanceof PlantOutcomeUnknown) return 'unknown'
    throw error
  }
}
