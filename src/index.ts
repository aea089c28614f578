export { plantStore as default } from './plugin.js'
export type { PlantStoreOptions } from './options.js'
export type { Tokens } from './route/authentication.js'
export { errorCodes, type ApiError, type ErrorCode, type ErrorName } from './api-error.js'
export { NewPlantSchema, PlantSchema, type NewPlant, type PlantWire } from './plant.js'
export { ErrorSchema, type ErrorWire } from './route/schemas.js'
export { channels, type BatchMessage, type CreateMessage, type QueueMessage, type TypedChannel } from './diagnostics.js'
export { memoryPlantStore } from './stores/memory-plant-store.js'
export { mongoPlantStore, type MongoPlantStoreOptions } from './stores/mongo/mongo-plant-store.js'
export { sqlitePlantStore, type SqlitePlantStoreOptions } from './stores/sqlite/sqlite-plant-store.js'
export {
  PlantNotStored, PlantOutcomeUnknown, StoreUnusable, type CreateOutcome, type PlantStore
} from './stores/store.js'
