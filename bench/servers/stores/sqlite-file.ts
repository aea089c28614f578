import { openDatabase, sqliteBinding } from '../../../src/stores/sqlite/database.js'

/** Keeps databases open: the binding closes one that is garbage-collected, even if its statements are in use. */
const opened: unknown[] = []

/** Opens a database with the service's own binding, table and settings. */
export async function openSqliteFile (path: string) {
  const { DatabaseSync } = await sqliteBinding()
  const database = openDatabase(DatabaseSync, path)
  opened.push(database)
  return database
}

/** The number of plants in a database file. */
export async function countPlants (path: string): Promise<number> {
  const database = await openSqliteFile(path)
  const { plants } = database.prepare('SELECT count(*) AS plants FROM plants').get() ?? {}
  database.close()
  return Number(plants)
}

/** The version and the settings of SQLite, for example `3.50.4 (journal_mode=wal, synchronous=2, …)`. */
export async function describeSqlite (folder: string): Promise<string> {
  const database = await openSqliteFile(`${folder}/described.db`)
  const valueOf = (query: string): string => String(Object.values(database.prepare(query).get() ?? {})[0])
  const settings = ['journal_mode', 'synchronous', 'wal_autocheckpoint', 'cache_size'].map(name => `${name}=${valueOf(`PRAGMA ${name}`)}`)
  return `${valueOf('SELECT sqlite_version()')} (${settings.join(', ')})`
}
