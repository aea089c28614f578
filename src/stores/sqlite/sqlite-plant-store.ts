import { resolve } from 'node:path'
import { BatchedPlantStore } from '../batching/batched-plant-store.js'
import type { PlantStore } from '../store.js'
import { SqliteClient } from './sqlite-client.js'

export interface SqlitePlantStoreOptions {
  /** The path of the database file, not a URI. If there is none, it is created, with its folders. */
  path: string
}

/**
 * Stores plants in an SQLite database: table `plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)`, in WAL
 * mode, each transaction synced to disk (`synchronous=FULL`, https://sqlite.org/pragma.html#pragma_synchronous) before
 * any of its plants is acknowledged. The database lives in a worker thread, so that no commit blocks the event loop.
 * @throws {TypeError} if there is no path of a file
 */
export function sqlitePlantStore (options: SqlitePlantStoreOptions): PlantStore {
  // A caller in JavaScript may pass none.
  const path: unknown = (options as SqlitePlantStoreOptions | undefined)?.path
  if (typeof path !== 'string' || /^($|:memory:$|file:)/.test(path)) {
    throw new TypeError('sqlitePlantStore: the option path must be the path of the database file; for plants in memory, use memoryPlantStore()')
  }
  return new BatchedPlantStore(new SqliteClient(resolve(path)))
}
