import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { openingFailureOf, SqliteFailure, unusable } from './sqlite-failure.js'

/** `PRAGMA user_version` of the files that this version writes. */
export const FORMAT = 1

/** The longest wait for another program's lock, in milliseconds. */
export const LOCK_WAIT_MS = 250

const CREATE_TABLE = 'CREATE TABLE IF NOT EXISTS plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)'

// The size of the cache is in KiB, hence negative: memory use grows with the table up to it. On macOS, fsync reaches
// only the drive's cache, unless it is F_FULLFSYNC; elsewhere the two pragmas have no effect.
const SETTINGS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA fullfsync = ON;
  PRAGMA checkpoint_fullfsync = ON;
  PRAGMA cache_size = -16384;
  PRAGMA wal_autocheckpoint = 4000;`

/** The class of the connections, in either binding. */
export type DatabaseClass = typeof import('@photostructure/sqlite').DatabaseSync

/**
 * Opens the file, or creates it with its folders.
 * @param wasOpen whether this process had it open before: then it is not created, and its log is emptied
 * @throws {SqliteFailure} `unusable` if it must not be written: another program's, a newer version's, damaged
 */
export function openDatabase (Database: DatabaseClass, path: string, wasOpen = false): DatabaseSyncInstance {
  let database: DatabaseSyncInstance | undefined
  try {
    if (wasOpen && !existsSync(path)) throw missing(path)
    makeFolder(dirname(path))
    database = new Database(path)
    database.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
    // Before anything is written, so that another program's file is not changed.
    checkFormat(database, path, wasOpen)
    database.exec(SETTINGS)
    // After a failed sync the log may not be on disk, and no later sync would report it.
    if (wasOpen) emptyLog(database, path)
    database.exec(`BEGIN IMMEDIATE; ${CREATE_TABLE}; PRAGMA user_version = ${FORMAT}; COMMIT`)
    return database
  } catch (error) {
    database?.close()
    throw error instanceof SqliteFailure ? error : openingFailureOf(error, path)
  }
}

/** The failure of a transaction, or of another opening, while there is no file. */
export function missing (path: string): SqliteFailure {
  return new SqliteFailure(`${path} was deleted or moved away while it was open: put it back, or restart to begin with an empty one`, { permanent: true })
}

/**
 * Moves the content of the write-ahead log to the database file.
 * @throws {SqliteFailure} if another program is reading the log
 */
export function emptyLog (database: DatabaseSyncInstance, path: string): void {
  const { busy } = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
  if (busy !== 0) throw new SqliteFailure(`another program is reading the log of ${path}, which must be emptied: stop that program`)
}

/**
 * Accepts an empty file, or one with this package's table, even without its format (as after `.dump` and a restore).
 * @param wasOpen whether the file must have the table
 */
function checkFormat (database: DatabaseSyncInstance, path: string, wasOpen: boolean): void {
  const { format, encoding, tables, columns } = database.prepare(`SELECT
    (SELECT user_version FROM pragma_user_version) AS format,
    (SELECT encoding FROM pragma_encoding) AS encoding,
    (SELECT count(*) FROM sqlite_schema) AS tables,
    (SELECT group_concat(name || ' ' || type || ' ' || pk, ', ') FROM pragma_table_info('plants')) AS columns`)
    .get() as { format: number, encoding: string, tables: number, columns: string | null }
  if (format > FORMAT) {
    throw unusable(`${path} has format ${format}, made by a newer plant-store; this one reads format ${FORMAT}: use the newer version`)
  }
  if (tables === 0 && wasOpen) {
    throw unusable(`${path} was replaced by an empty file: put the database back, or restart to begin with an empty one`)
  }
  // A text with a NUL is written as UTF-8 bytes.
  if (tables > 0 && (columns !== 'id INTEGER 1, name TEXT 0, tag TEXT 0' || encoding !== 'UTF-8')) {
    throw unusable(`${path} is an SQLite database of another program: choose another folder`)
  }
}

/** Creates a folder with its parents, and syncs their entries to disk. */
function makeFolder (folder: string): void {
  const first = mkdirSync(folder, { recursive: true })
  if (first === undefined) return
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    const above = openSync(dirname(made), 'r')
    fsyncSync(above)
    closeSync(above)
  }
}

/* c8 ignore start: one branch runs on Node 20, the other from 22.13 on */
/** `node:sqlite` if Node has it, otherwise the package with the same interface. */
export async function sqliteBinding (): Promise<typeof import('@photostructure/sqlite')> {
  if (!isBuiltin('node:sqlite')) return import('@photostructure/sqlite')
  // Node 22 warns that it is experimental, although since 22.13 it is the same as in Node 24.
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return await import('node:sqlite' as '@photostructure/sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}
/* c8 ignore stop */
