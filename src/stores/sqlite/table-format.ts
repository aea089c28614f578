import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { unusable } from './sqlite-error.js'

/** `PRAGMA user_version` of the files that this version writes. */
export const FORMAT = 1

const COLUMNS = { id: 'INTEGER PRIMARY KEY', name: 'TEXT NOT NULL', tag: 'TEXT' }
const TABLE = `plants(id ${COLUMNS.id}, name ${COLUMNS.name}, tag ${COLUMNS.tag})`
export const CREATE_TABLE = `CREATE TABLE IF NOT EXISTS ${TABLE}`

/** Copies the plants to a new table; the old one keeps what else it has. */
const REBUILD = `BEGIN; ALTER TABLE plants RENAME TO old_plants; CREATE TABLE ${TABLE}; INSERT INTO plants SELECT id, name, tag FROM old_plants; COMMIT`

/** A row of https://sqlite.org/pragma.html#pragma_table_xinfo */
interface Column { name: string, type: string, notnull: number, dflt_value: string | null, pk: number, hidden: number }

/** What is different from the table that this version makes, and the SQL that undoes it. */
interface Difference { what: string, remedy: string }

/**
 * Accepts an empty file, or one with the table, even without its format (as after `.dump` and a restore), and with more
 * columns, if an insert can leave them out.
 * @throws {SqliteError} `unusable`, whose message names each difference and how to undo it
 */
export function requireFormat (database: DatabaseSyncInstance, path: string): void {
  const { format, encoding, tables } = database.prepare(`SELECT
    (SELECT user_version FROM pragma_user_version) AS format,
    (SELECT encoding FROM pragma_encoding) AS encoding,
    (SELECT count(*) FROM sqlite_schema) AS tables`).get() as { format: number, encoding: string, tables: number }
  if (format > FORMAT) {
    throw unusable(`${path} has format ${format}, made by a newer plant-store; this one reads format ${FORMAT}: use the newer version`)
  }
  if (tables === 0) return

  const columns = columnsOf(database, 'plants')
  // Another program's database has another format, as a rule 0, and no such table.
  if (format !== FORMAT && !isOfPlants(columns)) {
    throw unusable(`${path} is an SQLite database of another program: choose another folder`)
  }
  if (columns.length === 0) throw unusable(missingTable(database, path))
  // A text with a NUL is written as UTF-8 bytes.
  if (encoding !== 'UTF-8') {
    throw unusable(`the text in ${path} is in ${encoding}, but must be in UTF-8: make a new file by "sqlite3 ${path} .dump | sqlite3 new.db", and put it in the place of this one`)
  }
  const differences = [...differencesOfTable(database), ...differencesOfColumns(columns)]
  if (differences.length === 0) return
  const whats = differences.map(({ what }) => what).join(', and ')
  throw unusable(`in ${path}, ${whats}. To undo the change, stop all programs that use the file, and run in sqlite3: ${remedyOf(differences)}`)
}

function remedyOf (differences: readonly Difference[]): string {
  const remedies = differences.map(({ remedy }) => remedy)
  return remedies.includes(REBUILD) ? REBUILD : remedies.join('; ')
}

function columnsOf (database: DatabaseSyncInstance, table: string): Column[] {
  return database.prepare('SELECT * FROM pragma_table_xinfo(?)').all(table) as unknown as Column[]
}

function isOfPlants (columns: readonly Column[]): boolean {
  return Object.keys(COLUMNS).every(name => columns.some(column => isNamed(column, name)))
}

/** Names in SQL do not depend on their case. */
function isNamed (column: Column, name: string): boolean {
  return column.name.toLowerCase() === name
}

/** Someone has renamed or dropped the table of a file with its format. */
function missingTable (database: DatabaseSyncInstance, path: string): string {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { name: string }[]
  const renamed = tables.find(({ name }) => isOfPlants(columnsOf(database, name)))
  if (renamed === undefined) return `${path} has no table plants: if it was dropped, restore a backup; if the database is another program's, choose another folder`
  return `${path} has no table plants, but a table ${renamed.name} with its columns: to undo the change, run in sqlite3: ALTER TABLE ${quoted(renamed.name)} RENAME TO plants`
}

function differencesOfTable (database: DatabaseSyncInstance): Difference[] {
  const { type, wr } = database.prepare("SELECT type, wr FROM pragma_table_list('plants') WHERE schema = 'main'").get() as { type: string, wr: number }
  if (type !== 'table') {
    return [{ what: `plants is a ${type}, but must be a table`, remedy: 'DROP VIEW plants; ALTER TABLE … RENAME TO plants' }]
  }
  return wr === 1 ? [{ what: 'the table plants is WITHOUT ROWID', remedy: REBUILD }] : []
}

function differencesOfColumns (columns: readonly Column[]): Difference[] {
  const others = columns.filter(column => !Object.keys(COLUMNS).some(name => isNamed(column, name)))
  const missing = Object.entries(COLUMNS).filter(([name]) => !columns.some(column => isNamed(column, name)))
  // Another column may be a missing one under a new name: nothing else is advised.
  if (missing.length > 0) return missing.map(([name, expected]) => missingColumn(name, expected, others))
  return [...columns.flatMap(differenceOfOwn), ...others.flatMap(differenceOfOther)]
}

function differenceOfOwn (column: Column): Difference | [] {
  const name = column.name.toLowerCase()
  const expected = Object.entries(COLUMNS).find(([key]) => key === name)?.[1]
  const actual = definitionOf(column)
  if (expected === undefined || actual === expected) return []
  return { what: `the column ${name} is ${actual}, but must be ${expected}`, remedy: REBUILD }
}

function differenceOfOther (column: Column): Difference | [] {
  const { name, pk } = column
  if (pk > 0) return { what: `the column ${name} is part of the primary key, which must be id alone`, remedy: REBUILD }
  if (!needsValue(column)) return []
  const what = `the column ${name} is ${definitionOf(column)} without a default, so that no plant can be inserted`
  return { what, remedy: `ALTER TABLE plants DROP COLUMN ${quoted(name)}` }
}

function missingColumn (name: string, expected: string, others: readonly Column[]): Difference {
  const what = `the table plants has no column ${name}, which must be ${expected}`
  const renamed = others.find(column => definitionOf(column) === expected)
  if (renamed !== undefined) return { what, remedy: `ALTER TABLE plants RENAME COLUMN ${quoted(renamed.name)} TO ${name}` }
  if (name === 'tag') return { what, remedy: `ALTER TABLE plants ADD COLUMN tag ${expected}` }
  return { what, remedy: `nothing, since each ${name} is gone: restore a backup` }
}

/** Whether an insert must have a value for the column. */
function needsValue ({ notnull, dflt_value: defaultValue, hidden }: Column): boolean {
  const isGenerated = hidden > 0
  const hasDefault = defaultValue !== null && defaultValue.toUpperCase() !== 'NULL'
  return notnull === 1 && !isGenerated && !hasDefault
}

/** The column as it would be declared; the primary key is not null by itself. */
function definitionOf ({ type, notnull, pk, hidden }: Column): string {
  const parts = [type.toUpperCase() || 'without a type']
  if (pk > 0) parts.push('PRIMARY KEY')
  else if (notnull === 1) parts.push('NOT NULL')
  if (hidden > 0) parts.push('GENERATED')
  return parts.join(' ')
}

function quoted (name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
