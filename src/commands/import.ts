import { readStoreLocation } from '../config/configuration.js'
import { describeStore } from '../config/configured-store.js'
import type { Command, Surroundings } from './command-line.js'
import { ndjsonSource } from './sources/ndjson-source.js'
import { copyToStore } from './targets/create-plants.js'

/** `plant-store import`: stores the plant of each line of NDJSON in the configured store; returns the exit code. */
export async function importPlants ({ file, quiet }: Command, surroundings: Surroundings): Promise<number> {
  const location = readStoreLocation(surroundings.env)
  const source = ndjsonSource(file)
  const from = file === '-' ? 'standard input' : file
  return copyToStore({ name: 'import', from, to: describeStore(location), quiet }, source, location, surroundings)
}
