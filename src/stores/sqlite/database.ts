import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { openingError, SqliteError, unusable } from './sqlite-error.js'

/** `PRAGMA user_version` of the files that this version writes. */
export const FORMAT = 1

/** The longest wait for another program's lock, in milliseconds. */
export const LOCK_WAIT_MS = 250

const CREATE_TABLE = 'CREATE TABLE IF NOT EXISTS plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)'

// The cache grows with the table, up to 16,384 KiB. On macOS, fsync without F_FULLFSYNC reaches only the drive's cache.
const SETTINGS = `
  PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -16384;
  PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;`

export type DatabaseClass = typeof import('@photostructure/sqlite').DatabaseSync

/**
 * Opens the file, or creates it with its folders.
 * @param wasOpen whether this process had it open before: then its log is emptied, and no table is created
 * @throws {SqliteError} `unusable` if it must not be written: another program's, a newer version's, damaged
 */
export function openDatabase (Database: DatabaseClass, path: string, wasOpen = false): DatabaseSyncInstance {
  let database: DatabaseSyncInstance | undefined
  try {
    makeFolder(dirname(path))
    database = new Database(path)
    database.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
    // Before anything is written, so that another program's file is not changed.
    checkFormat(database, path)
    database.exec(SETTINGS)
    if (!wasOpen) database.exec(`BEGIN IMMEDIATE; ${CREATE_TABLE}; PRAGMA user_version = ${FORMAT}; COMMIT`)
    // In a container, a file may be mounted into a folder that is not kept. With its table, it has a log.
    const [device, logDevice] = [path, logOf(path)].map(path => statSync(path, { throwIfNoEntry: false })?.dev)
    if (device !== undefined && logDevice !== undefined && device !== logDevice) {
      throw unusable(`${path} is mounted without its folder, so that its log would be lost: mount the folder`)
    }
    // After a failed sync the log may not be on disk, and no later sync would report it.
    if (wasOpen && database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy !== 0) {
      throw new SqliteError({ message: `another program is reading the log of ${path}, which must be emptied: stop that program` })
    }
    return database
  } catch (error) {
    database?.close()
    throw openingError(error, path)
  }
}

/** Accepts an empty file, or one with the table, even without its format (as after `.dump` and a restore). */
function checkFormat (database: DatabaseSyncInstance, path: string): void {
  const { format, encoding, tables, columns } = database.prepare(`SELECT
    (SELECT user_version FROM pragma_user_version) AS format,
    (SELECT encoding FROM pragma_encoding) AS encoding,
    (SELECT count(*) FROM sqlite_schema) AS tables,
    (SELECT group_concat(name || ' ' || type || ' ' || pk, ', ') FROM pragma_table_info('plants')) AS columns`)
    .get() as { format: number, encoding: string, tables: number, columns: string | null }
  if (format > FORMAT) {
    throw unusable(`${path} has format ${format}, made by a newer plant-store; this one reads format ${FORMAT}: use the newer version`)
  }
  // A text with a NUL is written as UTF-8 bytes.
  if (tables > 0 && (columns !== 'id INTEGER 1, name TEXT 0, tag TEXT 0' || encoding !== 'UTF-8')) {
    throw unusable(`${path} is an SQLite database of another program: choose another folder`)
  }
}

/** Identifies a file while it is open; undefined if there is none, or if it cannot be reached. */
export function identityOf (path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

/** The path of the write-ahead log, which lies beside the file itself if the path is a symbolic link. */
function logOf (path: string): string {
  return `${existsSync(path) ? realpathSync(path) : path}-wal`
}

export function hasLog (path: string): boolean {
  return existsSync(logOf(path)) && statSync(logOf(path)).size > 0
}

/** Open files by identity: closing one would release the locks of every SQLite connection of this process to it. */
const openFiles = new Map<string | undefined, number>()

/** Whether the header says that there may be a log. A backup has none, nor has an empty file. */
export function isInWalMode (path: string): boolean {
  const identity = identityOf(path)
  try {
    const file = openFiles.get(identity) ?? openSync(path, 'r')
    openFiles.set(identity, file)
    // https://sqlite.org/fileformat.html#file_format_version_numbers
    const version = Buffer.alloc(1)
    return readSync(file, version, 0, 1, 18) === 1 && version[0] === 2
  } catch {
    // If there is a file, its opening will report why it cannot be read.
    return identity !== undefined
  }
}

/** @throws {SqliteError} if SQLite would apply the log of another database to the file */
export function requireOwnLog (path: string): void {
  // In this order, since another process may be creating both.
  if (!hasLog(path) || isInWalMode(path)) return
  const log = logOf(path)
  throw unusable(`${log} is the log of another database than ${path}, as after a backup was copied over it: move ${log} and its -shm away, or put back the database that they belong to`)
}

/** Creates a folder with its parents, and syncs their entries to disk. */
function makeFolder (folder: string): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  mkdirSync(folder, { recursive: true })
  const above = openSync(dirname(folder), 'r')
  fsyncSync(above)
  closeSync(above)
}

/** `node:sqlite` if Node has it, otherwise the package with the same interface. */
export async function sqliteBinding (): Promise<typeof import('@photostructure/sqlite')> {
  if (!isBuiltin('node:sqlite')) return import('@photostructure/sqlite')
  // Node 22 warns that it is experimental, although since 22.13 it is the same as in Node 24.
  const { emitWarning } = process
  process.emitWarning = () => {}
  return import('node:sqlite' as '@photostructure/sqlite').finally(() => { process.emitWarning = emitWarning })
}
