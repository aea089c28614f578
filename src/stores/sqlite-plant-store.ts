import { resolve } from 'node:path'
import { StoreUnusable, type CreateOutcome, type NewPlant, type PlantStore } from './plant-store.js'
import { SharedWrites } from './shared-writes.js'
import { SqliteWriter } from './sqlite-writer.js'

export interface SqlitePlantStoreOptions {
  /** The database file. It is made, with its folders, where there is none. */
  path: string
}

/**
 * Stores plants in an SQLite database: table `plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)`, in WAL mode,
 * each transaction synced to disk (`synchronous=FULL`, https://sqlite.org/pragma.html#pragma_synchronous) before any of
 * its creates is answered. The database lives in a worker thread, so that no commit blocks the event loop.
 */
export function sqlitePlantStore ({ path }: SqlitePlantStoreOptions): PlantStore {
  if (typeof path !== 'string' || path === '') throw new TypeError('sqlitePlantStore: the option path must be the path of the database file')
  return new SqlitePlantStore(resolve(path))
}

class SqlitePlantStore implements PlantStore {
  readonly #writer: SqliteWriter
  readonly #writes: SharedWrites
  #isOpen = false
  #wasClosed = false

  constructor (path: string) {
    this.#writer = new SqliteWriter(path)
    this.#writes = new SharedWrites(this.#writer)
  }

  async open (): Promise<boolean> {
    if (this.#wasClosed) throw new StoreUnusable('the store was closed: make a new one')
    if (this.#isOpen) return false
    this.#isOpen = true
    try {
      await this.#writer.check()
    } catch (error) {
      // What may pass (a lock, a full disk) is waited for by each create, as when it comes later.
      if (!(error instanceof StoreUnusable)) return true
      this.#isOpen = false
      throw error
    }
    return true
  }

  create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
    return this.#writes.create(plant, deadline)
  }

  async ready (): Promise<void> {
    if (this.#wasClosed) throw new Error('the store is closed')
    await this.#writer.check()
  }

  async close (): Promise<void> {
    this.#isOpen = false
    this.#wasClosed = true
    await this.#writes.close()
    await this.#writer.close()
  }
}
