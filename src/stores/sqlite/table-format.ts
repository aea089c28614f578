import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { SqliteError } from './sqlite-error.js'

/** `PRAGMA user_version` of the files that this version writes. */
export const FORMAT = 1

const COLUMNS = new Map([['id', 'INTEGER PRIMARY KEY'], ['name', 'TEXT NOT NULL'], ['tag', 'TEXT']])
const TABLE = `plants(${Array.from(COLUMNS, column => column.join(' ')).join(', ')})`
export const CREATE_TABLE = `CREATE TABLE IF NOT EXISTS ${TABLE}`

/** A column, as it would be declared. Names do not depend on their case. */
interface Column { name: string, definition: string, needsValue: number }

// See https://sqlite.org/pragma.html#pragma_table_xinfo. A primary key is not null by itself.
const SELECT_COLUMNS = `SELECT lower(c.name) AS name, iif(c.type = '', 'untyped', upper(c.type)) ||
    CASE WHEN c.pk THEN ' PRIMARY KEY' WHEN c."notnull" THEN ' NOT NULL' ELSE '' END ||
    iif(c.hidden, ' GENERATED', '') || iif(c.pk AND t.wr, ' WITHOUT ROWID', '') AS definition,
    c.pk OR (c."notnull" AND NOT c.hidden AND ifnull(upper(c.dflt_value), 'NULL') = 'NULL') AS needsValue
  FROM pragma_table_list('plants') AS t, pragma_table_xinfo('plants') AS c WHERE t.schema = 'main' AND t.type = 'table'`

const SELECT_FORMAT = `SELECT
  (SELECT user_version FROM pragma_user_version) AS format,
  (SELECT encoding FROM pragma_encoding) AS encoding,
  (SELECT count(*) FROM sqlite_schema) AS objects,
  (SELECT count(*) FROM sqlite_schema WHERE lower(name) = 'plants' AND sql LIKE '%ON CONFLICT%') AS conflictClauses`

interface Found { format: number, encoding: string, objects: number, conflictClauses: number }

/**
 * Accepts an empty file, or one with the table, even without its format (as after `.dump` and a restore), and with more
 * columns, if an insert can leave them out.
 * @throws {SqliteError} `unusable`, whose message names each difference
 */
export function requireFormat (database: DatabaseSyncInstance, path: string): void {
  const { format, encoding, objects, conflictClauses } = database.prepare(SELECT_FORMAT).get() as unknown as Found
  if (format > FORMAT) {
    throw unusable(`${path} has format ${format}, made by a newer plant-store; this one reads format ${FORMAT}: use the newer version`)
  }
  const isEmpty = objects === 0
  const columns = database.prepare(SELECT_COLUMNS).all() as unknown as Column[]
  const names = columns.map(({ name }) => name)
  // Another program's database has another format, as a rule 0, and no such table.
  if (!isEmpty && format !== FORMAT && ![...COLUMNS.keys()].every(name => names.includes(name))) {
    throw unusable(`${path} is an SQLite database of another program: choose another path`)
  }
  // A text with a NUL is written as UTF-8 bytes.
  if (encoding !== 'UTF-8') {
    throw unusable(`the text in ${path} is in ${encoding}, but must be in UTF-8: make a new file by "sqlite3 ${path} .dump | sqlite3 new.db", and put it in the place of this one`)
  }
  if (isEmpty) return
  const differences = differencesOf(columns)
  // REPLACE would delete an older plant.
  if (conflictClauses > 0) differences.push('it must have no ON CONFLICT clause')
  if (differences.length === 0) return
  throw unusable(`the table plants in ${path} was changed (${differences.join('; ')}): undo that, or restore a backup`)
}

function differencesOf (columns: readonly Column[]): string[] {
  // It was renamed or dropped, or is a view.
  if (columns.length === 0) return ['there is no such table']
  const found = new Map(columns.map(({ name, definition }) => [name, definition]))
  const wrong = [...COLUMNS].filter(([name, definition]) => found.get(name) !== definition)
  const needy = columns.filter(({ name, needsValue }) => !COLUMNS.has(name) && needsValue === 1)
  return [
    ...wrong.map(([name, expected]) => `the column ${name} must be ${expected}, but is ${found.get(name) ?? 'missing'}`),
    ...needy.map(({ name, definition }) => `the column ${name} must need no value, but is ${definition}`)
  ]
}

function unusable (message: string): SqliteError {
  return new SqliteError('unusable', message)
}
