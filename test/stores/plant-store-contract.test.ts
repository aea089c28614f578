import t from 'tap'
import { memoryPlantStore } from '../../src/index.js'
import { plantStoreContract, type StoreSetup } from '../../src/stores/contract.js'
import type { NewPlant } from '../../src/plant.js'
import {
  checkedPlant, PlantNotStored, StoreUnusable, type CreateOutcome, type PlantStore
} from '../../src/stores/store.js'

const MONSTERA: NewPlant = { id: 1n, name: 'Monstera' }

type Fields = Omit<NewPlant, 'id'>

/** A store that fulfills the contract: its plants outlive it, as those in a file would. */
class SoundStore implements PlantStore {
  #state: 'new' | 'open' | 'closed' = 'new'
  constructor (readonly plants = new Map<bigint, Fields>()) {}

  async create (given: NewPlant, _deadline: number): Promise<CreateOutcome> {
    const { id, ...plant } = given
    checkedPlant(given)
    if (this.#state === 'closed') throw new PlantNotStored('closed')
    const existing = this.plants.get(id)
    if (existing !== undefined) return existing.name === plant.name && existing.tag === plant.tag ? 'same' : 'taken'
    this.plants.set(id, plant)
    return 'stored'
  }

  async open (): Promise<boolean> {
    if (this.#state === 'closed') throw new StoreUnusable('closed')
    const first = this.#state === 'new'
    this.#state = 'open'
    return first
  }

  async ready (): Promise<void> {
    if (this.#state === 'closed') throw new Error('closed')
  }

  async close (): Promise<void> {
    this.#state = 'closed'
  }
}

/** A setup with all of its parts. */
function completeSetup (Store: typeof SoundStore, cleanup = () => {}): StoreSetup {
  const plants = new Map<bigint, Fields>()
  return { store: new Store(plants), another: () => new Store(plants), stored: () => plants, cleanup }
}

/** The names of the checks that a store fails. */
async function failedChecks (newSetup: () => StoreSetup): Promise<string[]> {
  const names: string[] = []
  for (const { name, check } of plantStoreContract) await check(newSetup).catch(() => names.push(name))
  return names
}

t.test('a sound store passes every check, its stores are closed, and each setup is cleaned up', async t => {
  let cleanups = 0
  const left = new Set<SoundStore>()
  class CountedStore extends SoundStore {
    override async open () { left.add(this); return await super.open() }
    override async close () { left.delete(this); await super.close() }
  }
  for (const { name, check } of plantStoreContract) {
    t.equal(await check(async () => completeSetup(CountedStore, () => { cleanups++ })), undefined, name)
    t.equal(left.size, 0, 'all its stores are closed')
  }
  t.equal(cleanups, plantStoreContract.length)
})

t.test('parts of a setup are optional: a check reports why it was skipped', async t => {
  const skipped: string[] = []
  for (const { check } of plantStoreContract) {
    const store = new SoundStore()
    const reason = await check(() => ({ store: { create: (plant, deadline = NaN) => store.create(plant, deadline) } }))
    if (reason !== undefined) skipped.push(reason)
  }
  t.strictSame(
    skipped,
    ['neither another nor stored is given', 'the store has no open', 'the store has no close', 'the store has no close']
  )
  t.strictSame(await failedChecks(() => ({ ...completeSetup(SoundStore), stored: undefined })), [])
  t.strictSame(await failedChecks(() => ({ ...completeSetup(SoundStore), another: undefined })), [])
})

/** A sound store with another `create`, which is passed the sound one. */
function storeWith (
  createOf: (
    store: SoundStore, create: SoundStore['create'], plant: NewPlant, deadline: number
  ) => Promise<CreateOutcome>
): typeof SoundStore {
  return class extends SoundStore {
    override create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
      return createOf(this, super.create.bind(this), plant, deadline)
    }
  }
}

const storeThatChanges = (change: (plant: NewPlant) => NewPlant): typeof SoundStore =>
  storeWith((_store, create, plant, deadline) => create(change(plant), deadline))

t.test('the suite detects a store that violates the contract', async t => {
  const [
    DURABLE = '', EXACT = '', TAKEN = '', AT_ONCE = '', LATE = '', OPEN = '', CLOSE = '', TWICE = '', NO_PLANT = ''
  ] = plantStoreContract.map(({ name }) => name)

  async function violates (what: string, Store: typeof SoundStore, check: string): Promise<void> {
    t.ok((await failedChecks(() => completeSetup(Store))).includes(check), `a store that ${what}`)
  }

  await violates('acknowledges plants without storing them', storeWith(async () => 'stored'), DURABLE)
  await violates('keeps ids as doubles', storeThatChanges(plant => ({ ...plant, id: BigInt(Number(plant.id)) })), EXACT)
  const truncated = (plant: NewPlant) => ({ ...plant, name: plant.name.split('\0')[0] as string })
  await violates('truncates texts at a NUL', storeThatChanges(truncated), EXACT)
  await violates('normalises texts', storeThatChanges(plant => ({ ...plant, name: plant.name.normalize() })), EXACT)
  const untagged = ({ tag, ...plant }: NewPlant) => tag ? { ...plant, tag } : plant
  await violates('treats an empty tag as none', storeThatChanges(untagged), EXACT)
  await violates('stores additional fields', storeThatChanges(plant => Object.assign({ at: 0 }, plant)), DURABLE)
  const modified = (plant: NewPlant) => Object.assign(plant, { tag: plant.tag ?? '' })
  await violates('modifies the plants it is given', storeThatChanges(modified), TAKEN)
  await violates('ignores case when it compares a name', storeWith((store, create, plant, deadline) => {
    const name = store.plants.get(plant.id)?.name
    return create(name?.toLowerCase() === plant.name.toLowerCase() ? { ...plant, name } : plant, deadline)
  }), TAKEN)
  await violates('replaces a plant', storeWith(async (store, create, plant, deadline) => {
    const outcome = await create(plant, deadline)
    const { id, ...fields } = plant
    if (outcome === 'taken') store.plants.set(id, fields)
    return outcome
  }), TAKEN)
  await violates('stores both of two concurrent plants', storeWith(async ({ plants }, _create, { id, ...plant }) => {
    const isNew = !plants.has(id)
    await new Promise(resolve => setImmediate(resolve))
    if (isNew) plants.set(id, plant)
    return isNew ? 'stored' : 'taken'
  }), AT_ONCE)
  await violates('stores plants that it rejects as late', storeWith(async (_store, create, plant, deadline) => {
    const outcome = await create(plant, deadline)
    if (deadline < performance.now()) throw new PlantNotStored('late')
    return outcome
  }), LATE)
  await violates('stores what is no plant', storeThatChanges(plant => ({ ...MONSTERA, ...plant })), NO_PLANT)
  await violates(
    'throws instead of rejecting',
    storeWith((_store, create, plant, deadline) => create(checkedPlant(plant), deadline)),
    NO_PLANT
  )
  await violates('forgets that it was closed', class extends SoundStore {
    override async close () {}
  }, OPEN)
  await violates('does not report whether it was already open', class extends SoundStore {
    override async open () { await super.open(); return true }
  }, OPEN)
  await violates('discards acknowledged plants when it is closed', class extends SoundStore {
    override async close () { await super.close(); this.plants.clear() }
  }, CLOSE)
  await violates('can be closed only while it is open', class extends SoundStore {
    #open = false
    override async open () { this.#open = true; return await super.open() }
    override async close () {
      if (!this.#open) throw new Error('not open')
      await super.close()
    }
  }, TWICE)
})

t.test('the memory store fulfills the contract, except for durability', async t => {
  for (const { name, check } of plantStoreContract) {
    const store = memoryPlantStore()
    const stored = () => new Map([...store.plants.values()].map(({ id, ...plant }) => [id, plant]))
    t.equal(await check(() => ({ store, stored })), undefined, name)
  }
})
