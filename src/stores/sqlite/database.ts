import { closeSync, fsyncSync, mkdirSync, openSync, statfsSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { codeOf, messageOf } from '../../error-message.js'
import { StoreUnusable } from '../plant-store.js'
import { resultCode, SqliteFailure } from './sqlite-failure.js'

/** `PRAGMA user_version` of the files that this version writes. */
export const FORMAT = 1

const CREATE_TABLE = 'CREATE TABLE IF NOT EXISTS plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)'

/**
 * In KiB, hence negative. Memory use grows with the table up to this size; beyond it, pages come from the operating
 * system's cache.
 */
const PAGE_CACHE = -16_384

// On macOS, fsync reaches only the drive's cache, unless it is F_FULLFSYNC; elsewhere the two pragmas have no effect.
const SETTINGS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA fullfsync = ON;
  PRAGMA checkpoint_fullfsync = ON;
  PRAGMA cache_size = ${PAGE_CACHE};
  PRAGMA wal_autocheckpoint = 4000;`

/** In bytes: what the write-ahead log grows to between two checkpoints, and the free space with which it is grown. */
const LOG_SIZE = 4000 * 4096
const AMPLE_SPACE = 2 ** 30

/** The class of the connections, in either binding. */
export type DatabaseClass = typeof import('@photostructure/sqlite').DatabaseSync

/**
 * Opens the file, or creates it with its folders.
 * @param wasOpen whether this process had it open before: then it is not created, and its log is emptied
 * @param lockWaitMs how long to wait for another program's lock
 * @throws {StoreUnusable} if the file must not be written: another program's, a newer version's, damaged, or read-only
 * @throws {SqliteFailure} if its log cannot be emptied
 */
export function openDatabase (
  Database: DatabaseClass, path: string, wasOpen = false, lockWaitMs = 0
): DatabaseSyncInstance {
  let database: DatabaseSyncInstance | undefined
  try {
    makeFolder(dirname(path))
    database = new Database(path)
    database.exec(`PRAGMA busy_timeout = ${lockWaitMs}`)
    // Before anything is written, so that another program's file is not changed.
    checkFormat(database, path, wasOpen)
    database.exec(SETTINGS)
    // After a failed sync the log may not be on disk, and no later sync would report it.
    if (wasOpen) emptyLog(database, path)
    database.exec(`BEGIN IMMEDIATE; ${CREATE_TABLE}; PRAGMA user_version = ${FORMAT}; COMMIT`)
    return database
  } catch (error) {
    database?.close()
    throw unusable(error, path) ?? error
  }
}

/**
 * Grows the write-ahead log to its final size. While the file grows, each sync has to write more than its pages, and a
 * commit takes twice as long (0.25 to 0.36 ms against 0.14 to 0.24). This takes 30 to 60 ms, once.
 *
 * The pages that make it grow are spilled into the log by a transaction that is rolled back: nothing refers to them.
 */
export function growLog (database: DatabaseSyncInstance, path: string): void {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    if (bavail * bsize < AMPLE_SPACE || statSync(`${path}-wal`).size >= LOG_SIZE) return
    database.exec('PRAGMA cache_size = 16')
    database.exec('BEGIN IMMEDIATE')
    database.exec(`CREATE TABLE log_space(bytes); INSERT INTO log_space VALUES (zeroblob(${LOG_SIZE}))`)
  } catch {
    // It only affects speed; a fault is reported when a plant is written.
  }
  rollBack(database)
  database.exec(`PRAGMA cache_size = ${PAGE_CACHE}`)
}

/**
 * Moves the content of the write-ahead log to the database file.
 * @throws {SqliteFailure} if another program is reading the log
 */
export function emptyLog (database: DatabaseSyncInstance, path: string): void {
  const { busy } = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
  if (busy !== 0) throw new SqliteFailure(`another program is reading the log of ${path}, which must be emptied: stop that program`)
}

/** Rolls back the transaction, if there is one: Node 22.13 has no `isTransaction`. */
export function rollBack (database: DatabaseSyncInstance): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // There is no transaction, or the connection is broken; the original error is reported.
  }
}

// https://sqlite.org/rescode.html
const DAMAGED = new Set([11 /* CORRUPT */, 26])
const NOT_WRITABLE = new Set<unknown>([3 /* PERM */, 8 /* READONLY */, 14 /* CANTOPEN */, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENAMETOOLONG', 'ELOOP'])

/** Converts an error that retrying does not fix; undefined for any other, such as a full disk or a lock. */
function unusable (error: unknown, path: string): StoreUnusable | undefined {
  const message = messageOf(error)
  const code = resultCode(error)
  if (DAMAGED.has(code)) return new StoreUnusable(`${path} is damaged, or is not an SQLite database (${message}): it was not changed; restore a backup, or choose another folder`)
  if (!NOT_WRITABLE.has(code) && !NOT_WRITABLE.has(codeOf(error))) return undefined
  return new StoreUnusable(`${path} cannot be written (${message}): give this user write permission, or choose another folder`)
}

/**
 * Accepts an empty file, or one with this package's table, even without its format (as after `.dump` and a restore).
 * @param wasOpen whether the file must have the table
 * @throws {StoreUnusable} for any other file
 */
function checkFormat (database: DatabaseSyncInstance, path: string, wasOpen: boolean): void {
  const { user_version: format } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (format > FORMAT) {
    throw new StoreUnusable(`${path} has format ${format}, made by a newer plant-store; this one reads format ${FORMAT}: use the newer version`)
  }
  const { encoding, tables, columns } = database.prepare(`SELECT
    (SELECT encoding FROM pragma_encoding) AS encoding,
    (SELECT count(*) FROM sqlite_schema) AS tables,
    (SELECT group_concat(name || ' ' || type || ' ' || pk, ', ') FROM pragma_table_info('plants')) AS columns`).get() as { encoding: string, tables: number, columns: string | null }
  if (tables === 0 && wasOpen) {
    throw new StoreUnusable(`${path} was replaced by an empty file: put the database back, or restart to begin with an empty one`)
  }
  if (tables > 0 && columns !== 'id INTEGER 1, name TEXT 0, tag TEXT 0') {
    throw new StoreUnusable(`${path} is an SQLite database of another program: choose another folder`)
  }
  // A text with a NUL is written as UTF-8 bytes.
  if (encoding !== 'UTF-8') throw new StoreUnusable(`${path} has its text in ${encoding}, not in UTF-8: choose another folder`)
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
