import { createRequire, isBuiltin } from 'node:module'

export interface Statement { run: (...values: Array<bigint | number | string | null>) => unknown, get: (...values: Array<bigint | number | string>) => Record<string, unknown> | undefined }
export interface Database { exec: (sql: string) => void, prepare: (sql: string) => Statement, close: () => void }

/** The same binding as the service's: Node's own where it has one, else the package with the same interface. */
export function openDatabase (path: string): Database {
  const require = createRequire(import.meta.url)
  const { DatabaseSync } = require(isBuiltin('node:sqlite') ? 'node:sqlite' : '@photostructure/sqlite') as {
    DatabaseSync: new (path: string) => Database
  }
  return new DatabaseSync(path)
}

export const createTable = 'CREATE TABLE IF NOT EXISTS plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)'
