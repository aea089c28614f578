import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { codeOf, messageOf } from '../../error-message.js'
import { CODE, resultCode, SqliteError } from './sqlite-error.js'
import { CREATE_TABLE, FORMAT, requireFormat } from './table-format.js'

/**
 * The longest wait for another program's lock, in milliseconds. A batch is sent if at least so much time is left until
 * the deadlines of its plants; while the lock is held, it is sent again and again.
 */
const LOCK_WAIT_MS = 100

// The cache grows with the table, up to 16,384 KiB. The log grows as long as another program reads it. On macOS, fsync
// without F_FULLFSYNC reaches only the drive's cache.
const SETTINGS = `
  PRAGMA journal_mode = WAL;
  PRAGMA journal_size_limit = ${32 * 1024 * 1024};
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA cache_size = -16384;
  PRAGMA synchronous = FULL;
  PRAGMA fullfsync = ON;
  PRAGMA checkpoint_fullfsync = ON;`

/** Because of the path, of this user's permissions, or of Node's permission model. */
const PATH_FAULTS = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENAMETOOLONG', 'ELOOP', 'ERR_ACCESS_DENIED']

export type DatabaseClass = typeof import('@photostructure/sqlite').DatabaseSync

/**
 * Opens the file, or creates it with its folders.
 * @param wasOpen whether this process had it open before: then its log must be emptied, and no table is created
 * @throws {SqliteError} `unusable` if it must not be written: another program's, a newer version's, damaged
 * @throws what may pass, such as a lock or a full disk
 */
export function openDatabase (Database: DatabaseClass, path: string, wasOpen = false): DatabaseSyncInstance {
  let database: DatabaseSyncInstance | undefined
  try {
    mkdirSync(dirname(path), { recursive: true })
    // SQLite would open a device.
    const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true
    if (!isFile) throw new SqliteError('unusable', `${path} is not a file: move it away, or choose another path`)
    if (!wasOpen) requireOwnLog(path)
    database = new Database(path)
    database.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
    // Before anything is written, so that another program's file is not changed.
    requireFormat(database, path)
    database.exec(SETTINGS)
    if (!wasOpen) database.exec(`BEGIN IMMEDIATE; ${CREATE_TABLE}; PRAGMA user_version = ${FORMAT}; COMMIT`)
    requireLogOnSameDevice(path)
    emptyLog(database, path, wasOpen)
    return database
  } catch (error) {
    database?.close()
    throw openingError(error, path)
  }
}

/** What was thrown, or what must be done first if another attempt would fail too. */
function openingError (error: unknown, path: string): unknown {
  const reason = messageOf(error)
  switch (resultCode(error)) {
    case CODE.CORRUPT:
    case CODE.NOTADB:
      return new SqliteError('unusable', `${path} is damaged, or is not an SQLite database (${reason}): it was not changed; restore a backup, or choose another path`)
    case CODE.PERM:
    case CODE.READONLY:
    case CODE.CANTOPEN:
      return inaccessible(path, reason)
    default:
      return PATH_FAULTS.includes(String(codeOf(error))) ? inaccessible(path, reason) : error
  }
}

function inaccessible (path: string, reason: string): SqliteError {
  return new SqliteError('unusable', `${path} cannot be opened for writing by this user, uid ${process.geteuid?.()} (${reason}): look at the path, the permissions of the file, of its -wal and -shm and of its folders, the mount options, the limit on open files, and what AppArmor, SELinux or Node's permission model forbid`)
}

/** Identifies a file while it is open; undefined if there is none, or if it cannot be reached. */
export function identityOf (path: string): string | undefined {
  try {
    // As bigints, since overlayfs, for example, uses all 64 bits.
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

/** The write-ahead log, which lies beside the file itself if the path is a symbolic link. */
function logOf (path: string): string {
  return `${existsSync(path) ? realpathSync(path) : path}-wal`
}

/** @throws {SqliteError} if SQLite would apply the log of another database to the file */
export function requireOwnLog (path: string): void {
  const log = logOf(path)
  const { size = 0 } = statSync(log, { throwIfNoEntry: false }) ?? {}
  // In this order, since another process may be creating both.
  if (size === 0 || isInWalMode(path)) return
  throw new SqliteError('unusable', `${log} is the log of another database than ${path}, as after a backup was copied over it: move ${log} and its -shm away, or put back the database that they belong to`)
}

/** Whether the header says that there may be a log. A backup's does not, nor is there one in an empty file. */
function isInWalMode (path: string): boolean {
  try {
    // https://sqlite.org/fileformat.html#file_format_version_numbers
    return headerOf(path)[18] === 2
  } catch {
    // If there is a file, its opening will report why it cannot be read.
    return existsSync(path)
  }
}

/**
 * Reads the header in another process. A process that closes any descriptor of a file loses the locks that its SQLite
 * connections hold on it, the host's too (https://sqlite.org/howtocorrupt.html, section 2.2).
 */
function headerOf (path: string): Buffer {
  try {
    return execFileSync('head', ['-c', '20', path], { stdio: 'pipe' })
  } catch {
    // There may be no such program, or Node's permission model may allow none: this descriptor stays open.
    const header = Buffer.alloc(20)
    readSync(openSync(path, 'r'), header)
    return header
  }
}

/** In a container, a file may be mounted into a folder that is not kept. With its table, it has a log. */
function requireLogOnSameDevice (path: string): void {
  const log = statSync(logOf(path), { throwIfNoEntry: false })
  if (log === undefined || log.dev === statSync(path).dev) return
  throw new SqliteError('unusable', `${path} is mounted without its folder, so that its log would be lost: mount the folder`)
}

/**
 * After a failed sync, of this process or of one that was killed, the log may not be on disk, and no later sync would
 * report it. At first, another process may have it open, which looks after it.
 */
function emptyLog (database: DatabaseSyncInstance, path: string, mustBeEmpty: boolean): void {
  const { busy } = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
  if (busy === 0 || !mustBeEmpty) return
  throw new SqliteError('busy', `another program is reading the log of ${path}, which must be emptied: stop that program`)
}

/**
 * `node:sqlite` if Node has it, otherwise the package with the same interface.
 * @throws {Error} that says what to install
 */
export async function sqliteBinding (): Promise<typeof import('@photostructure/sqlite')> {
  if (!isBuiltin('node:sqlite')) {
    try {
      return await import('@photostructure/sqlite')
    } catch (error) {
      const reason = messageOf(error).replace(/\s+/g, ' ')
      throw new Error(`Node ${process.version} has no SQLite, and @photostructure/sqlite cannot be loaded (${reason}): run npm install @photostructure/sqlite@1 on the platform where the app runs; with Node's permission model, add --allow-addons`)
    }
  }
  // Node 22 warns that it is experimental, although since 22.13 it is the same as in Node 24.
  const { emitWarning } = process
  process.emitWarning = () => {}
  return import('node:sqlite' as '@photostructure/sqlite').finally(() => { process.emitWarning = emitWarning })
}
