import { cpSync, rmSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Test } from 'tap'
import type { PlantStore } from '../../../src/stores/store.js'
import { sqliteBinding, type DatabaseClass } from '../../../src/stores/sqlite/database.js'
import { PlantsTable } from '../../../src/stores/sqlite/plants-table.js'
import { sqlitePlantStore } from '../../../src/stores/sqlite/sqlite-plant-store.js'

export const { DatabaseSync } = await sqliteBinding()

/** What makes the table, but for a `)`. */
export const TABLE = 'CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT'

export function openTable (t: Test, path: string, Database: DatabaseClass = DatabaseSync): PlantsTable {
  const table = new PlantsTable(Database, path)
  t.teardown(() => table.close())
  return table
}

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

/** Makes a file with plants 1 to `count` in its log, as a process leaves it that is killed. */
export function makeWithLog (path: string, count = 1): void {
  const database = openSqlite(`${path}.live`)
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA user_version = 1;
    ${TABLE});
    WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT ${count})
    INSERT INTO plants SELECT id, 'Ficus', NULL FROM n`)
  for (const suffix of ['', '-wal', '-shm']) cpSync(`${path}.live${suffix}`, `${path}${suffix}`)
  database.close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}.live${suffix}`, { force: true })
}

/** Holds the write lock of a database, as another program that is writing, until it rolls back, commits or closes. */
export function lockSqlite (path: string): DatabaseSyncInstance {
  const database = openSqlite(path)
  database.exec('BEGIN IMMEDIATE')
  return database
}

/** The threads started during a test. `kill` makes the latest one die, of a message that it does not understand. */
export function threadsOf (t: Test): { threads: Worker[], kill: () => void } {
  const threads: Worker[] = []
  const note = (worker: Worker) => { threads.push(worker) }
  process.on('worker', note)
  t.teardown(() => { process.off('worker', note) })
  return { threads, kill: () => threads.at(-1)?.postMessage(null) }
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
