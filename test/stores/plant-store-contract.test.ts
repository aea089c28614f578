import t from 'tap'
import { memoryPlantStore } from '../../src/index.js'
import { plantStoreContract, type StorePlace } from '../../src/stores/contract.js'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable, type CreateOutcome, type NewPlant, type PlantStore } from '../../src/plant-store.js'

type Fields = Omit<NewPlant, 'id'>

/** A store that fulfills the contract: its plants outlive it, as those in a file would. */
class SoundStore implements PlantStore {
  #state: 'new' | 'open' | 'closed' = 'new'
  constructor (readonly plants = new Map<bigint, Fields>()) {}

  async create ({ id, ...plant }: NewPlant, _deadline: number): Promise<CreateOutcome> {
    if (this.#state === 'closed') throw new PlantNotStored('closed')
    const existing = this.plants.get(id)
    if (existing === undefined) {
      this.plants.set(id, plant)
      return 'stored'
    }
    return existing.name === plant.name && existing.tag === plant.tag ? 'same' : 'taken'
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

/** A StorePlace with all of its parts: a store, further stores on the same plants, and the plants. */
function completePlace (Store: typeof SoundStore, cleanup = () => {}): StorePlace {
  const plants = new Map<bigint, Fields>()
  return { store: new Store(plants), another: () => new Store(plants), stored: () => plants, cleanup }
}

/** A sound store, except that it creates another plant than it is given. */
function storeThatChanges (change: (plant: NewPlant) => NewPlant): typeof SoundStore {
  return class extends SoundStore {
    override create (plant: NewPlant, deadline: number) { return super.create(change(plant), deadline) }
  }
}

/** The names of the checks that a store fails. */
async function failedChecks (newPlace: () => StorePlace): Promise<string[]> {
  const names: string[] = []
  for (const { name, check } of plantStoreContract) {
    try {
      await check(newPlace)
    } catch {
      names.push(name)
    }
  }
  return names
}

t.test('a store that fulfills the contract passes every check, its stores are closed, and each place is cleaned up', async t => {
  let cleanups = 0
  const left = new Set<SoundStore>()
  class CountedStore extends SoundStore {
    override async open () { left.add(this); return await super.open() }
    override async close () { left.delete(this); await super.close() }
  }
  for (const { name, check } of plantStoreContract) {
    t.equal(await check(async () => completePlace(CountedStore, () => { cleanups++ })), undefined, name)
    t.equal(left.size, 0, 'all its stores are closed')
  }
  t.equal(cleanups, plantStoreContract.length)
  t.equal(new Set(plantStoreContract.map(({ name }) => name)).size, plantStoreContract.length, 'names are unique')
})

t.test('a store with only create passes the checks that apply; the others report why they were skipped', async t => {
  const skipped: string[] = []
  for (const { check } of plantStoreContract) {
    const store = new SoundStore()
    const reason = await check(() => ({ store: { create: (plant, deadline) => store.create(plant, deadline) } }))
    if (reason !== undefined) skipped.push(reason)
  }
  t.strictSame(skipped, [
    'the place has neither another store nor stored', 'the store has no open', 'the store has no close', 'the store has no close'
  ])
})

t.test('parts of a place are optional: stored, another store, and close', async t => {
  t.strictSame(await failedChecks(() => ({ ...completePlace(SoundStore), stored: undefined })), [])
  t.strictSame(await failedChecks(() => ({ ...completePlace(SoundStore), another: undefined })), [])
  class NoClose extends SoundStore {}
  Object.assign(NoClose.prototype, { close: undefined })
  t.strictSame(await failedChecks(() => completePlace(NoClose)), [])
})

t.test('the suite detects a store that violates the contract', async t => {
  const names = plantStoreContract.map(({ name }) => name)
  const [DURABLE = '', EXACT = '', TAKEN = '', AT_ONCE = '', MANY = '', LATE = '', OPEN = '', CLOSE = '', TWICE = ''] = names

  const faults: [what: string, Store: typeof SoundStore, checks: string[]][] = [
    ['acknowledges plants without storing them', class extends SoundStore {
      override async create (): Promise<CreateOutcome> { return 'stored' }
    }, [DURABLE, EXACT, TAKEN, AT_ONCE, MANY, LATE, CLOSE]],
    ['keeps ids as doubles', storeThatChanges(plant => ({ ...plant, id: BigInt(Number(plant.id)) })), [EXACT]],
    ['truncates texts at a NUL', storeThatChanges(plant => ({ ...plant, name: plant.name.split('\0')[0] as string })), [EXACT]],
    ['normalises texts', storeThatChanges(plant => ({ ...plant, name: plant.name.normalize() })), [EXACT]],
    ['ignores case when it compares a name', class extends SoundStore {
      override async create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
        const name = this.plants.get(plant.id)?.name
        const isAlike = name?.toLowerCase() === plant.name.toLowerCase()
        return await super.create(isAlike ? { ...plant, name } : plant, deadline)
      }
    }, [TAKEN]],
    ['treats an empty tag as none', storeThatChanges(({ tag, ...plant }) => tag ? { ...plant, tag } : plant), [EXACT, TAKEN]],
    ['replaces a plant', class extends SoundStore {
      override async create ({ id, ...plant }: NewPlant, deadline: number): Promise<CreateOutcome> {
        const outcome = await super.create({ id, ...plant }, deadline)
        if (outcome === 'taken') this.plants.set(id, plant)
        return outcome
      }
    }, [TAKEN, AT_ONCE]],
    ['stores both of two concurrent plants', class extends SoundStore {
      override async create ({ id, ...plant }: NewPlant): Promise<CreateOutcome> {
        const isNew = !this.plants.has(id)
        await new Promise(resolve => setImmediate(resolve))
        if (isNew) this.plants.set(id, plant)
        return isNew ? 'stored' : JSON.stringify(this.plants.get(id)) === JSON.stringify(plant) ? 'same' : 'taken'
      }
    }, [AT_ONCE, CLOSE]],
    ['stores additional fields', storeThatChanges(plant => Object.assign({ at: 0 }, plant)), [DURABLE, EXACT, TAKEN, AT_ONCE, MANY, CLOSE]],
    ['modifies the plants it is given', storeThatChanges(plant => Object.assign(plant, { tag: plant.tag ?? '' })), [EXACT, TAKEN, AT_ONCE, MANY, CLOSE]],
    ['stores plants that it rejects as late', class extends SoundStore {
      override async create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
        const outcome = await super.create(plant, deadline)
        if (deadline < performance.now()) throw new PlantNotStored('late')
        return outcome
      }
    }, [LATE]],
    ...[PlantNotStored, PlantOutcomeUnknown].map((Failure): typeof faults[0] => [`rejects a late plant with ${Failure.name}, as it may`, class extends SoundStore {
      override async create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
        if (deadline < performance.now()) throw new Failure('late')
        return await super.create(plant, deadline)
      }
    }, []]),
    ['stores no more than a thousand plants', class extends SoundStore {
      override async create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
        if (this.plants.size >= 1_000) throw new Error('full')
        return await super.create(plant, deadline)
      }
    }, [MANY]],
    ['rejects with any error when closed', class extends SoundStore {
      #closed = false
      override async create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
        if (this.#closed) throw new TypeError('not open')
        return await super.create(plant, deadline)
      }

      override async close () { this.#closed = true }
    }, [OPEN, CLOSE]],
    ['forgets that it was closed', class extends SoundStore {
      override async close () {}
    }, [OPEN, CLOSE]],
    ['does not report whether it was already open', class extends SoundStore {
      override async open () { await super.open(); return true }
    }, [OPEN]],
    ['discards acknowledged plants when it is closed', class extends SoundStore {
      override async close () { await super.close(); this.plants.clear() }
    }, [DURABLE, CLOSE]],
    ['can be closed only once, and only while it is open', class extends SoundStore {
      #open = false
      override async open () { this.#open = true; return await super.open() }
      override async close () {
        if (!this.#open) throw new Error('not open')
        this.#open = false
        await super.close()
      }
    }, [CLOSE, TWICE]]
  ]
  for (const [what, Store, checks] of faults) t.strictSame(await failedChecks(() => completePlace(Store)), checks, `a store that ${what}`)
})

t.test('the memory store fulfills the contract, except for durability', async t => {
  for (const { name, check } of plantStoreContract) {
    const store = memoryPlantStore()
    const stored = () => new Map([...store.plants.values()].map(({ id, ...plant }) => [id, plant]))
    t.equal(await check(() => ({ store, stored })), undefined, name)
  }
})
