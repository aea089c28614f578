import type { NewPlant } from '../plant.js'
import { checkedPlant, PlantNotStored, StoreUnusable, type CreateOutcome, type PlantStore } from './store.js'

/** Stores plants in memory, for tests. It keeps every promise of `PlantStore` except durability. */
export function memoryPlantStore (): PlantStore & { readonly plants: ReadonlyMap<bigint, NewPlant> } {
  const plants = new Map<bigint, NewPlant>()
  let state: 'new' | 'open' | 'closed' = 'new'
  return {
    plants,
    async open (): Promise<boolean> {
      if (state === 'closed') throw new StoreUnusable('the store was closed: make a new one')
      const opens = state === 'new'
      state = 'open'
      return opens
    },
    async create (given: NewPlant): Promise<CreateOutcome> {
      const plant = checkedPlant(given)
      if (state === 'closed') throw new PlantNotStored('the store is closed')
      const existing = plants.get(plant.id)
      if (existing !== undefined) return existing.name === plant.name && existing.tag === plant.tag ? 'same' : 'taken'
      plants.set(plant.id, plant)
      return 'stored'
    },
    async ready (): Promise<void> {
      if (state === 'closed') throw new Error('the store is closed')
    },
    async close (): Promise<void> {
      state = 'closed'
    }
  }
}
