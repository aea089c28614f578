import { ConfigurationError, readStoreLocation } from '../config/configuration.js'
import { databaseFile, describeStore } from '../config/configured-store.js'
import type { Command, Surroundings } from './command-line.js'
import { sqliteSource } from './sources/sqlite-source.js'
import { copyToStore } from './targets/create-plants.js'

/** `plant-store migrate`: copies every plant of DATA_DIR to MONGODB_URL; returns the exit code. */
export async function migrate ({ quiet }: Command, surroundings: Surroundings): Promise<number> {
  const location = readStoreLocation(surroundings.env)
  const { DATA_DIR, MONGODB_URL } = location
  if (MONGODB_URL === undefined) throw new ConfigurationError('MONGODB_URL is not set: set it, or MONGODB_URL_FILE, to the MongoDB that the plants are copied to')
  const source = await sqliteSource(databaseFile(DATA_DIR))
  const from = describeStore({ DATA_DIR })
  return copyToStore({ name: 'migrate', from, to: describeStore(location), quiet }, source, location, surroundings)
}
