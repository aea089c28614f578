import t from 'tap'
import { plantStoreContract, type StorePlace } from '../../src/stores/contract.js'
import { PlantNotStored, PlantPerhapsStored, StoreUnusable, type CreateOutcome, type NewPlant, type PlantStore } from '../../src/stores/plant-store.js'

type Fields = Omit<NewPlant, 'id'>

/** A store that keeps every promise: what it holds outlives it, as a file's plants would. */
class KeptStore implements PlantStore {
  #state: 'new' | 'open' | 'closed' = 'new'
  constructor (readonly plants = new Map<bigint, Fields>()) {}

  async create ({ id, ...plant }: NewPlant, _deadline: number): Promise<CreateOutcome> {
    if (this.#state === 'closed') throw new PlantNotStored('closed')
    const there = this.plants.get(id)
    if (there === undefined) {
      this.plants.set(id, plant)
      return 'stored'
    }
    return there.name === plant.name && there.tag === plant.tag ? 'same' : 'taken'
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

/** All that can be looked at, of a store and of others on the same plants. */
function wholePlace (Store: typeof KeptStore, end = () => {}): StorePlace {
  const plants = new Map<bigint, Fields>()
  return { store: new Store(plants), another: () => new Store(plants), stored: () => plants, end }
}

/** The sentences that a store breaks, by their first words. */
async function broken (newPlace: () => StorePlace): Promise<string[]> {
  const sentences: string[] = []
  for (const { name, check } of plantStoreContract) {
    try {
      await check(newPlace)
    } catch {
      sentences.push(name)
    }
  }
  return sentences
}

const sentence = (words: string): string => plantStoreContract.find(({ name }) => name.includes(words))?.name ?? words

t.test('a store that keeps all promises passes all of it, and each place is taken away', async t => {
  let cleanups = 0
  for (const { name, check } of plantStoreContract) {
    t.equal(await check(async () => wholePlace(KeptStore, () => { cleanups++ })), undefined, name)
  }
  t.equal(cleanups, plantStoreContract.length)
  t.equal(new Set(plantStoreContract.map(({ name }) => name)).size, plantStoreContract.length, 'each has its name')
})

t.test('a store with create only passes what applies, and learns which checks were skipped', async t => {
  const skipped = new Map<string, string>()
  for (const { name, check } of plantStoreContract) {
    const { plants, ...store } = { plants: new KeptStore() }
    const reason = await check(() => ({
      store: { ...store, create: (plant, deadline) => plants.create(plant, deadline) }
    }))
    if (reason !== undefined) skipped.set(name, reason)
  }
  t.strictSame([...skipped.values()], [
    'the place has neither another store nor stored', 'the store has no open', 'the store has no ready',
    'the store has no close', 'the store has no close', 'the store has no close'
  ])
  t.equal(skipped.get(plantStoreContract[0]?.name as string), 'the place has neither another store nor stored')
})

t.test('a place may have some parts only: another store without stored, stored without another, no close', async t => {
  t.strictSame(await broken(() => ({ ...wholePlace(KeptStore), stored: undefined })), [])
  t.strictSame(await broken(() => ({ ...wholePlace(KeptStore), another: undefined })), [])
  class NoClose extends KeptStore {}
  Object.assign(NoClose.prototype, { close: undefined })
  t.strictSame(await broken(() => wholePlace(NoClose)), [])
})

t.test('a store may give up what is past its deadline, or leave it open', async t => {
  for (const failure of [new PlantNotStored('late'), new PlantPerhapsStored('late')]) {
    t.strictSame(await broken(() => wholePlace(class extends KeptStore {
      override async create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
        if (deadline < performance.now()) throw failure
        return await super.create(plant, deadline)
      }
    })), [], failure.name)
  }
})

t.test('the suite finds a store that breaks its promises', async t => {
  const [DURABLE, EXACT, TAKEN, AT_ONCE, MANY, LATE, OPEN, READY, AFTER_CLOSE, CLOSE, TWICE] = [
    'is found by a store that is opened later', 'to the last digit', 'changes nothing', 'exactly one is stored', 'thousands', 'whose deadline has passed',
    'open resolves', 'is ready', 'after close', 'in flight', 'never opened'
  ].map(sentence) as [string, string, string, string, string, string, string, string, string, string, string]

  const faults: [what: string, Store: typeof KeptStore, sentences: string[]][] = [
    ['acknowledges what it has not stored', class extends KeptStore {
      override async create (): Promise<CreateOutcome> { return 'stored' }
    }, [DURABLE, EXACT, TAKEN, AT_ONCE, MANY, LATE, AFTER_CLOSE, CLOSE]],
    ['keeps ids as doubles', class extends KeptStore {
      override create (
        plant: NewPlant, deadline: number
      ) { return super.create({ ...plant, id: BigInt(Number(plant.id)) }, deadline) }
    }, [EXACT]],
    ['truncates texts at a NUL', class extends KeptStore {
      override create (plant: NewPlant, deadline: number) { return super.create({ ...plant, name: plant.name.split('\0')[0] as string }, deadline) }
    }, [EXACT]],
    ['normalises texts', class extends KeptStore {
      override create (
        plant: NewPlant, deadline: number
      ) { return super.create({ ...plant, name: plant.name.normalize() }, deadline) }
    }, [EXACT]],
    ['takes an empty tag for none', class extends KeptStore {
      override create (
        { tag, ...plant }: NewPlant, deadline: number
      ) { return super.create(tag ? { ...plant, tag } : plant, deadline) }
    }, [EXACT, TAKEN]],
    ['replaces a plant', class extends KeptStore {
      override async create ({ id, ...plant }: NewPlant, deadline: number): Promise<CreateOutcome> {
        const outcome = await super.create({ id, ...plant }, deadline)
        if (outcome === 'taken') this.plants.set(id, plant)
        return outcome
      }
    }, [TAKEN, AT_ONCE]],
    ['stores both of two that come at once', class extends KeptStore {
      override async create ({ id, ...plant }: NewPlant): Promise<CreateOutcome> {
        const isNew = !this.plants.has(id)
        await new Promise(resolve => setImmediate(resolve))
        if (isNew) this.plants.set(id, plant)
        return isNew ? 'stored' : JSON.stringify(this.plants.get(id)) === JSON.stringify(plant) ? 'same' : 'taken'
      }
    }, [AT_ONCE, AFTER_CLOSE]],
    ['keeps more than a plant', class extends KeptStore {
      override create (
        plant: NewPlant, deadline: number
      ) { return super.create({ at: 0, ...plant } as NewPlant, deadline) }
    }, [DURABLE, EXACT, TAKEN, AT_ONCE, AFTER_CLOSE, CLOSE]],
    ['writes to the plants that it is given', class extends KeptStore {
      override create (plant: NewPlant, deadline: number) { return super.create(Object.assign(plant, { tag: plant.tag ?? '' }), deadline) }
    }, [EXACT, TAKEN, AT_ONCE, CLOSE]],
    ['stores what it calls late', class extends KeptStore {
      override async create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
        const outcome = await super.create(plant, deadline)
        if (deadline < performance.now()) throw new PlantNotStored('late')
        return outcome
      }
    }, [LATE]],
    ['takes a thousand and no more', class extends KeptStore {
      override async create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
        if (this.plants.size >= 1_000) throw new Error('full')
        return await super.create(plant, deadline)
      }
    }, [MANY]],
    ['rejects with any error when closed', class extends KeptStore {
      #closed = false
      override async create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
        if (this.#closed) throw new TypeError('not open')
        return await super.create(plant, deadline)
      }

      override async close () { this.#closed = true }
    }, [OPEN, READY, AFTER_CLOSE]],
    ['forgets that it was closed', class extends KeptStore {
      override async close () {}
    }, [OPEN, READY, AFTER_CLOSE]],
    ['does not say whether it was opened', class extends KeptStore {
      override async open () { await super.open(); return true }
    }, [OPEN]],
    ['takes back what it acknowledged, at its close', class extends KeptStore {
      override async close () { await super.close(); this.plants.clear() }
    }, [DURABLE, AFTER_CLOSE, CLOSE]],
    ['can be closed only once, and only when it is open', class extends KeptStore {
      #open = false
      override async open () { this.#open = true; return await super.open() }
      override async close () {
        if (!this.#open) throw new Error('not open')
        this.#open = false
        await super.close()
      }
    }, [CLOSE, TWICE]]
  ]
  for (const [what, Store, sentences] of faults) t.strictSame(await broken(() => wholePlace(Store)), sentences, `a store that ${what}`)
})
