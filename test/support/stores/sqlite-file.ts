import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Test } from 'tap'
import type { PlantStore } from '../../../src/stores/store.js'
import { sqliteBinding } from '../../../src/stores/sqlite/database.js'
import { sqlitePlantStore } from '../../../src/stores/sqlite/sqlite-plant-store.js'

export const { DatabaseSync } = await sqliteBinding()

/** What makes the table, but for a `)`. */
export const TABLE = 'CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT'

export function storeAt (t: Test, path: string): Required<PlantStore> {
  const store = sqlitePlantStore({ path }) as Required<PlantStore>
  t.teardown(() => store.close())
  return store
}

/** Connects to a database file as another program would; the connection waits for locks. */
export function openSqlite (path: string): DatabaseSyncInstance {
  const database = new DatabaseSync(path)
  database.exec('PRAGMA busy_timeout = 5000')
  return database
}

export function execute (path: string, sql: string): void {
  const database = openSqlite(path)
  database.exec(sql)
  database.close()
}

/** Holds the write lock of a database, as another program that is writing, until it rolls back, commits or closes. */
export function lockSqlite (path: string): DatabaseSyncInstance {
  const database = openSqlite(path)
  database.exec('BEGIN IMMEDIATE')
  return database
}

/** The plants in a database file, as another program reads them. */
export function plantsInFile (path: string): Map<bigint, Record<string, unknown>> {
  const database = openSqlite(path)
  try {
    // As bytes: reading text would stop at a NUL.
    const select = database.prepare('SELECT id AS id, CAST(name AS BLOB) AS name, CAST(tag AS BLOB) AS tag FROM plants')
    select.setReadBigInts(true)
    const rows = select.all() as { id: bigint, name: Uint8Array, tag: Uint8Array | null }[]
    return new Map(
      rows.map(({ id, name, tag }) => [id, tag === null ? { name: text(name) } : { name: text(name), tag: text(tag) }])
    )
  } finally {
    database.close()
  }
}

function text (bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}
