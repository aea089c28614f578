import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { unusable } from './sqlite-error.js'

/** `PRAGMA user_version` of the files that this version writes. */
export const FORMAT = 1

const COLUMNS = new Map([['id', 'INTEGER PRIMARY KEY'], ['name', 'TEXT NOT NULL'], ['tag', 'TEXT']])
const TABLE = `plants(${Array.from(COLUMNS, column => column.join(' ')).join(', ')})`
export const CREATE_TABLE = `CREATE TABLE IF NOT EXISTS ${TABLE}`

/** Copies the plants to a new table; the old one keeps what else it has. */
const REBUILD = `BEGIN; ALTER TABLE plants RENAME TO old_plants; CREATE TABLE ${TABLE}; INSERT INTO plants SELECT id, name, tag FROM old_plants; COMMIT`

/** A column, as it would be declared. Names do not depend on their case. */
interface Column { name: string, definition: string, needsValue: number }

/** What is different from the table that this version makes, and the SQL that undoes it. */
interface Difference { what: string, remedy: string }

// See https://sqlite.org/pragma.html#pragma_table_xinfo. A primary key is not null by itself.
const SELECT_COLUMNS = `SELECT lower(c.name) AS name, iif(c.type = '', 'untyped', upper(c.type)) ||
    CASE WHEN c.pk THEN ' PRIMARY KEY' WHEN c."notnull" THEN ' NOT NULL' ELSE '' END ||
    iif(c.hidden, ' GENERATED', '') || iif(c.pk AND t.wr, ' WITHOUT ROWID', '') AS definition,
    c.pk OR (c."notnull" AND NOT c.hidden AND ifnull(upper(c.dflt_value), 'NULL') = 'NULL') AS needsValue
  FROM pragma_table_list('plants') AS t, pragma_table_xinfo('plants') AS c WHERE t.schema = 'main' AND t.type = 'table'`

/**
 * Accepts an empty file, or one with the table, even without its format (as after `.dump` and a restore), and with more
 * columns, if an insert can leave them out.
 * @throws {SqliteError} `unusable`, whose message names each difference and how to undo it
 */
export function requireFormat (database: DatabaseSyncInstance, path: string): void {
  const { format, encoding, objects } = database.prepare(`SELECT
    (SELECT user_version FROM pragma_user_version) AS format,
    (SELECT encoding FROM pragma_encoding) AS encoding,
    (SELECT count(*) FROM sqlite_schema) AS objects`).get() as { format: number, encoding: string, objects: number }
  if (format > FORMAT) {
    throw unusable(`${path} has format ${format}, made by a newer plant-store; this one reads format ${FORMAT}: use the newer version`)
  }
  const isEmpty = objects === 0
  const columns = database.prepare(SELECT_COLUMNS).all() as unknown as Column[]
  const names = columns.map(({ name }) => name)
  // Another program's database has another format, as a rule 0, and no such table.
  if (!isEmpty && format !== FORMAT && ![...COLUMNS.keys()].every(name => names.includes(name))) {
    throw unusable(`${path} is an SQLite database of another program: choose another folder`)
  }
  // A text with a NUL is written as UTF-8 bytes.
  if (encoding !== 'UTF-8') {
    throw unusable(`the text in ${path} is in ${encoding}, but must be in UTF-8: make a new file by "sqlite3 ${path} .dump | sqlite3 new.db", and put it in the place of this one`)
  }
  const differences = isEmpty ? [] : differencesOf(columns)
  if (differences.length === 0) return
  const whats = differences.map(({ what }) => what).join(', and ')
  const remedies = new Set(differences.map(({ remedy }) => remedy))
  throw unusable(`in ${path}, ${whats}. To undo the change, stop all programs that use the file, and restore a backup, or run in sqlite3: ${[...remedies].join('; ')}`)
}

function differencesOf (columns: readonly Column[]): Difference[] {
  // It was renamed or dropped, or is a view.
  if (columns.length === 0) return [{ what: 'there is no table plants', remedy: 'ALTER TABLE "its new name" RENAME TO plants' }]
  const missing = [...COLUMNS].filter(([name]) => !columns.some(column => column.name === name))
  // One of the others may be a missing one under a new name: a new table would be without its values.
  if (missing.length > 0) return missing.map(([name, expected]) => missingColumn(name, expected, columns))
  const isWrong = ({ name, definition, needsValue }: Column) =>
    COLUMNS.has(name) ? definition !== COLUMNS.get(name) : needsValue === 1
  return columns.filter(isWrong).map(({ name, definition }) => {
    const expected = COLUMNS.get(name) ?? 'one that needs no value'
    return { what: `the column ${name} is ${definition}, but must be ${expected}`, remedy: REBUILD }
  })
}

function missingColumn (name: string, expected: string, columns: readonly Column[]): Difference {
  const what = `the table plants has no column ${name}, which must be ${expected}`
  const renamed = columns.find(column => !COLUMNS.has(column.name) && column.definition === expected)
  const rename = `ALTER TABLE plants RENAME COLUMN ${quoted(renamed?.name ?? 'its new name')} TO ${name}`
  if (name !== 'tag') return { what, remedy: rename }
  const add = 'ALTER TABLE plants ADD COLUMN tag TEXT'
  return { what, remedy: renamed === undefined ? add : `${rename} (if that is its new name, otherwise ${add})` }
}

function quoted (name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
