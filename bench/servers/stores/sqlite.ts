import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { openDatabase, sqliteBinding } from '../../../src/stores/sqlite/database.js'
import type { InsertMany, Plant } from './group-commit.js'

/** Keeps databases open: the binding closes one that is garbage-collected, even if its statements are in use. */
const opened: unknown[] = []

/** Opens a database with the service's own binding, table and settings. */
export async function openSqlite (path: string) {
  const { DatabaseSync } = await sqliteBinding()
  const database = openDatabase(DatabaseSync, path)
  opened.push(database)
  const statement = database.prepare('INSERT INTO plants(id, name, tag) VALUES(?, ?, ?) ON CONFLICT(id) DO NOTHING')
  const insert = ({ id, name, tag }: Plant): boolean => statement.run(id, name, tag ?? null).changes === 1
  return { database, insert }
}

/** Starts a thread that stores the plants of each write in one transaction. */
export function sqliteThread (path: string): InsertMany {
  const thread = new Worker(new URL('sqlite-thread.js', import.meta.url), { workerData: path })
  return async plants => {
    thread.postMessage(plants)
    const [stored] = await once(thread, 'message')
    return stored
  }
}

/** Ids of the plants that a store is filled with, below those that are created. */
export const FIRST_FILLED = 1e14

/** Adds so many plants to the table of a database file, which may be that of another program. */
export async function fillSqlite (path: string, count: number): Promise<void> {
  const { DatabaseSync } = await sqliteBinding()
  const database = new DatabaseSync(path)
  database.prepare(`
    WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?)
    INSERT INTO plants(id, name, tag) SELECT ${FIRST_FILLED} + n, 'Monstera deliciosa', 'Araceae' FROM numbers
  `).run(count)
  database.close()
}

export async function countSqlite (path: string): Promise<number> {
  const { DatabaseSync } = await sqliteBinding()
  const database = new DatabaseSync(path)
  const found = database.prepare('SELECT count(*) AS plants FROM plants').get() as { plants: number }
  database.close()
  return found.plants
}

export async function sqliteVersion (): Promise<string> {
  const { DatabaseSync } = await sqliteBinding()
  const database = new DatabaseSync(':memory:')
  const found = database.prepare('SELECT sqlite_version() AS version').get() as { version: string }
  database.close()
  return found.version
}
