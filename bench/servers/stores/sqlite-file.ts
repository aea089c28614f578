import { growLog, openDatabase, sqliteBinding } from '../../../src/stores/sqlite/database.js'

/** Keeps databases open: the binding closes one that is garbage-collected, even if its statements are in use. */
const opened: unknown[] = []

/** Opens a database with the service's own binding, table and settings, and a write-ahead log of the same size. */
export async function openSqliteFile (path: string) {
  const { DatabaseSync } = await sqliteBinding()
  const database = openDatabase(DatabaseSync, path)
  growLog(database, path)
  opened.push(database)
  return database
}
