import { closeSync, fsyncSync, mkdirSync, openSync, statfsSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'

/** `PRAGMA user_version` of the files that this version writes. */
export const FORMAT = 1

const CREATE_TABLE = 'CREATE TABLE IF NOT EXISTS plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)'

/**
 * Negative: KiB. It fills as the table grows, and only then is the process's memory at its level; beyond it, pages come
 * from the operating system's cache.
 */
const PAGE_CACHE = -16_384

// A lock that another program holds is waited for in short turns, so that a create that is past its deadline is told.
const SETTINGS = `
  PRAGMA busy_timeout = 250;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = ${PAGE_CACHE};
  PRAGMA wal_autocheckpoint = 4000;`

/** Bytes that the write-ahead log grows to between two checkpoints, and those that have to be free on the disk for it. */
const LOG_SIZE = 4000 * 4096
const AMPLE_SPACE = 2 ** 30

/** The file can never be opened as it is: another program's, a newer version's, damaged, or not writable. */
export class FileUnusable extends Error {}

/**
 * Opens the file, or makes it with its folders.
 * @throws {FileUnusable} where it is not ours to write
 */
export async function openDatabase (path: string): Promise<DatabaseSyncInstance> {
  const { DatabaseSync } = await sqliteBinding()
  let database: DatabaseSyncInstance | undefined
  try {
    makeFolder(dirname(path))
    database = new DatabaseSync(path)
    // Before anything is written: a file that is not ours stays as it is.
    checkFormat(database, path)
    database.exec(SETTINGS)
    database.exec('BEGIN IMMEDIATE')
    // Another process may have made it in the meantime.
    checkFormat(database, path)
    database.exec(`${CREATE_TABLE}; PRAGMA user_version = ${FORMAT}; COMMIT`)
    return database
  } catch (error) {
    database?.close()
    throw unusable(error, path) ?? error
  }
}

/**
 * Gives the write-ahead log the size that it comes to anyway: while its file grows, each sync has to write more than its
 * pages, and a commit takes twice as long (0.25 to 0.36 ms against 0.14 to 0.24). Takes 30 to 60 ms, once.
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
    // It is a matter of speed only; what keeps it from growing will be told where a plant has to be written.
  }
  rollBack(database)
  database.exec(`PRAGMA cache_size = ${PAGE_CACHE}`)
}

/** Ends a transaction, where there is one: Node 22.13 has no `isTransaction`. */
export function rollBack (database: DatabaseSyncInstance): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // There is none, or the connection is of no more use: what led here is told instead.
  }
}

/** Primary result codes, https://sqlite.org/rescode.html */
export const SQLITE_BUSY = 5
export const SQLITE_FULL = 13

const DAMAGED = new Set([11 /* CORRUPT */, 26])
const NOT_WRITABLE = new Set<unknown>([3 /* PERM */, 8 /* READONLY */, 14 /* CANTOPEN */, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'])

/** What waiting does not change, such as a damaged file, and unlike a full disk or a lock. */
function unusable (error: unknown, path: string): FileUnusable | undefined {
  const { message } = error as Error
  const code = resultCode(error)
  if (DAMAGED.has(code)) return new FileUnusable(`${path} is damaged, or is no SQLite database (${message}): it stays as it is; restore a copy of it, or choose another folder`)
  if (!NOT_WRITABLE.has(code) && !NOT_WRITABLE.has((error as NodeJS.ErrnoException).code)) return undefined
  return new FileUnusable(`${path} cannot be written (${message}): give this user the right to, or choose another folder`)
}

/** The primary result code in an error of SQLite; 0 in any other. */
export function resultCode (error: unknown): number {
  return Number((error as { errcode?: number }).errcode) & 0xff
}

/**
 * Passes a file that is empty, ours, or ours but for the marker (as after `.dump` and a restore).
 * @throws {FileUnusable} for any other
 */
function checkFormat (database: DatabaseSyncInstance, path: string): void {
  const { user_version: format } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (format > FORMAT) {
    throw new FileUnusable(`${path} has format ${format}, made by a newer plant-store; this one knows format ${FORMAT}: use the newer version`)
  }
  const { tables, columns } = database.prepare(`SELECT
    (SELECT count(*) FROM sqlite_schema) AS tables,
    (SELECT group_concat(name || ' ' || type || ' ' || pk, ', ') FROM pragma_table_info('plants')) AS columns`).get() as { tables: number, columns: string | null }
  if (tables > 0 && columns !== 'id INTEGER 1, name TEXT 0, tag TEXT 0') {
    throw new FileUnusable(`${path} is an SQLite database of another program: choose another folder`)
  }
}

/** Makes a folder with those above it, and puts their entries on disk. */
function makeFolder (folder: string): void {
  const first = mkdirSync(folder, { recursive: true })
  if (first === undefined) return
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    const above = openSync(dirname(made), 'r')
    fsyncSync(above)
    closeSync(above)
  }
}

/* c8 ignore start: one way runs on Node 20, the other from 22.13 on */
/** `node:sqlite` where Node has it, else the package with the same interface. */
export async function sqliteBinding (): Promise<typeof import('@photostructure/sqlite')> {
  if (!isBuiltin('node:sqlite')) return import('@photostructure/sqlite')
  // Node 22 warns that it is experimental; it has been what Node 24 has since 22.13.
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return await import('node:sqlite' as '@photostructure/sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}
/* c8 ignore stop */
