export { plantStore as default } from './plant-store-plugin.js'
export type { PlantStoreOptions } from './plant-store-options.js'
export type { Tokens } from './authenticate.js'
export { mongoPlantStore, type MongoPlantStoreOptions } from './stores/mongo-plant-store.js'
export { sqlitePlantStore, type SqlitePlantStoreOptions } from './stores/sqlite-plant-store.js'
export {
  PlantNotStored, PlantPerhapsStored, StoreUnusable,
  type CreateOutcome, type NewPlant, type PlantStore
} from './stores/plant-store.js'
