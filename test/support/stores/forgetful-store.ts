import type { NewPlant, PlantStore } from '../../../src/stores/plant-store.js'

/** A store for tests of something else: it answers `stored` to everything, and lists the plants. */
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
