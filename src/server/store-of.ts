import { join, resolve } from 'node:path'
import type { PlantStore } from '../stores/plant-store.js'
import { ConfigurationError, type Configuration } from './configuration.js'

interface Place {
  MONGODB_URL?: string | undefined
  DATA_DIR: string
}

/** The database file of the embedded store. */
export function databaseFile (dataDir: string): string {
  return join(resolve(dataDir), 'plants.db')
}

/**
 * Makes the store that the configuration names; the other one, and its driver, is not loaded.
 * @throws {ConfigurationError}
 */
export async function storeOf ({ MONGODB_URL, DATA_DIR, STORE_TIMEOUT }: Place & Pick<Configuration, 'STORE_TIMEOUT'>): Promise<PlantStore> {
  if (MONGODB_URL === undefined) {
    const { sqlitePlantStore } = await import('../stores/sqlite-plant-store.js')
    return sqlitePlantStore({ path: databaseFile(DATA_DIR) })
  }
  const { mongoPlantStore } = await import('../stores/mongo-plant-store.js')
  try {
    return mongoPlantStore({ url: MONGODB_URL, storeTimeout: STORE_TIMEOUT })
  } catch (error) {
    throw new ConfigurationError(`MONGODB_URL cannot be used: ${(error as Error).message}`)
  }
}

/** Where plants go, for people; without credentials. */
export function placeOf ({ MONGODB_URL, DATA_DIR }: Place): string {
  if (MONGODB_URL === undefined) return `SQLite, ${databaseFile(DATA_DIR)}`
  return `MongoDB, ${MONGODB_URL.replace(/^mongodb(?:\+srv)?:\/\/(?:[^@/]*@)?([^/?]*).*$/, '$1')}`
}
