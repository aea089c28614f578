import type { NewPlant } from '../../../src/plant.js'
import type { PlantStore } from '../../../src/stores/store.js'

/** A minimal store: `create` always resolves with `stored`, and `plants` lists all plants it received. */
export function forgetfulStore (): PlantStore & { plants: NewPlant[] } {
  const plants: NewPlant[] = []
  return {
    plants,
    async create (plant) {
      plants.push(plant)
      return 'stored'
    }
  }
}
