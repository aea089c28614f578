import { join, resolve } from 'node:path'
import { messageOf } from '../error-message.js'
import type { PlantStore } from '../stores/store.js'
import { ConfigurationError, type Configuration, type StoreLocation } from './configuration/configuration.js'

export function databaseFile (dataDir: string): string {
  return join(resolve(dataDir), 'plants.db')
}

/** Makes the configured store, without loading the other one; throws a ConfigurationError. */
export async function createStore (
  location: StoreLocation & Pick<Configuration, 'STORE_TIMEOUT'>
): Promise<PlantStore> {
  const { MONGODB_URL, DATA_DIR, STORE_TIMEOUT } = location
  if (MONGODB_URL === undefined) {
    const { sqlitePlantStore } = await import('../stores/sqlite/sqlite-plant-store.js')
    return sqlitePlantStore({ path: databaseFile(DATA_DIR) })
  }
  const { mongoPlantStore } = await import('../stores/mongo/mongo-plant-store.js')
  try {
    return mongoPlantStore({ url: MONGODB_URL, storeTimeout: STORE_TIMEOUT })
  } catch (error) {
    throw unusableUrl(location, error)
  }
}

/** The error of a MONGODB_URL that the driver refuses. */
export function unusableUrl ({ urlVariable }: StoreLocation, error: unknown): ConfigurationError {
  // Behind the error that names the option of `mongoPlantStore`.
  const reason = error instanceof TypeError ? error.cause ?? error : error
  return new ConfigurationError(`${urlVariable} cannot be used: ${messageOf(reason)}`)
}

/** Describes where plants are stored, for people; without credentials. */
export function describeStore ({ MONGODB_URL, DATA_DIR }: Omit<StoreLocation, 'urlVariable'>): string {
  if (MONGODB_URL === undefined) return `SQLite, ${databaseFile(DATA_DIR)}`
  const [, hosts, database] = /^mongodb(?:\+srv)?:\/\/(?:[^@/]*@)?([^/?]*)\/?([^?]*)/.exec(MONGODB_URL) ?? []
  return `MongoDB, ${hosts}, database ${database || 'plant_store'}`
}
