import { growLog, openDatabase, sqliteBinding } from '../../../src/stores/sqlite/database.js'

/** The service's own binding, table and settings, and a write-ahead log that has its size. */
export async function openSqliteFile (path: string) {
  const { DatabaseSync } = await sqliteBinding()
  const database = openDatabase(DatabaseSync, path)
  growLog(database, path)
  return database
}
