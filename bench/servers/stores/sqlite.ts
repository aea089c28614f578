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

/** Reads the number of plants in a database file, and the version of SQLite. */
export async function describeSqlite (path: string): Promise<{ plants: number, version: string }> {
  const { database } = await openSqlite(path)
  const found = database.prepare('SELECT count(*) AS plants, sqlite_version() AS version FROM plants').get()
  database.close()
  return found as { plants: number, version: string }
}
