import type { NewPlant, PlantStore } from '../../../src/stores/plant-store.js'

/** A store for tests that look at something else: it says «stored», and keeps no more than a list. */
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
