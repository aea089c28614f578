import { execFileSync } from 'node:child_process'
import {
  accessSync, closeSync, constants, existsSync, fsyncSync, mkdirSync, openSync, readSync, realpathSync, statSync
} from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { codeOf, messageOf } from '../../error-message.js'
import { CODE, isDenial, resultCode, SqliteError, transactionError, unusable } from './sqlite-error.js'
import { CREATE_TABLE, FORMAT, requireFormat } from './table-format.js'

/** The longest wait for another program's lock, in milliseconds. */
export const LOCK_WAIT_MS = 250

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
 */
export function openDatabase (Database: DatabaseClass, path: string, wasOpen = false): DatabaseSyncInstance {
  let database: DatabaseSyncInstance | undefined
  try {
    makeFolder(dirname(path))
    // SQLite would open a device.
    const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true
    if (!isFile) throw unusable(`${path} is not a file: move it away, or choose another folder`)
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

/** Creates a folder with its parents, and syncs their entries to disk. */
function makeFolder (folder: string): void {
  if (existsSync(folder)) {
    if (statSync(folder).isDirectory()) return
    throw unusable(`${folder} is not a folder: move it away, or choose another one`)
  }
  // Node's permission model can hide even `/`.
  if (folder !== dirname(folder)) makeFolder(dirname(folder))
  try {
    // Not `recursive`: in /proc, that would never end.
    mkdirSync(folder)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    // Another process has made it, unless it is a link that leads nowhere.
    realpathSync(folder)
  }
  const above = openSync(dirname(folder), 'r')
  fsyncSync(above)
  closeSync(above)
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

/** The write-ahead log, its index and a journal, which lie beside the file itself if the path is a symbolic link. */
export function besides (path: string): Record<'log' | 'index' | 'journal', string> {
  const file = existsSync(path) ? realpathSync(path) : path
  return { log: `${file}-wal`, index: `${file}-shm`, journal: `${file}-journal` }
}

export function hasLog (path: string): boolean {
  const { size = 0 } = statSync(besides(path).log, { throwIfNoEntry: false }) ?? {}
  return size > 0
}

/** @throws {SqliteError} if SQLite would apply the log of another database to the file */
export function requireOwnLog (path: string): void {
  // In this order, since another process may be creating both.
  if (!hasLog(path) || isInWalMode(path)) return
  const { log } = besides(path)
  throw unusable(`${log} is the log of another database than ${path}, as after a backup was copied over it: move ${log} and its -shm away, or put back the database that they belong to`)
}

/** Whether the header says that there may be a log. A backup's does not, nor is there one in an empty file. */
export function isInWalMode (path: string): boolean {
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
  const log = statSync(besides(path).log, { throwIfNoEntry: false })
  if (log === undefined || log.dev === statSync(path).dev) return
  throw unusable(`${path} is mounted without its folder, so that its log would be lost: mount the folder`)
}

/**
 * After a failed sync, of this process or of one that was killed, the log may not be on disk, and no later sync would
 * report it. At first, another process may have it open, which looks after it.
 */
function emptyLog (database: DatabaseSyncInstance, path: string, mustBeEmpty: boolean): void {
  const { busy } = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
  if (busy === 0 || !mustBeEmpty) return
  const message = `another program is reading the log of ${path}, which must be emptied: stop that program`
  throw new SqliteError('busy', message, 'connection')
}

/** A full disk or a lock, for example, leaves the file usable. */
function openingError (error: unknown, path: string): SqliteError {
  const reason = messageOf(error)
  if ([CODE.CORRUPT, CODE.NOTADB].includes(resultCode(error))) return unusable(`${path} is damaged, or is not an SQLite database (${reason}): it was not changed; restore a backup, or choose another folder`)
  if (isDenial(error) || PATH_FAULTS.includes(String(codeOf(error)))) return unusable(obstacleTo(path, reason))
  return transactionError(error)
}

/** What this user cannot write, or another reason why a file cannot be opened, and what to do. */
function obstacleTo (path: string, reason: string): string {
  const { log, index, journal } = besides(path)
  let folder = dirname(log)
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  const user = `this user, uid ${process.geteuid?.()}`
  for (const above of foldersTo(dirname(path))) {
    const fault = accessFault(above, constants.X_OK)
    if (codeOf(fault) === 'EACCES') return `${above} cannot be entered by ${user} (${messageOf(fault)}): give this user the permission to execute it, or choose another folder`
  }
  for (const file of [path, log, index, journal, folder]) {
    const fault = accessFault(file, constants.R_OK | constants.W_OK)
    if (fault !== undefined) return `${file} cannot be written by ${user} (${messageOf(fault)}): make it writable for this user, or choose another folder`
  }
  return `${path} cannot be opened (${reason}): look at the path, the mount options, the limit on open files, and what AppArmor or SELinux forbids`
}

/** A folder and those above it, from the top. */
function foldersTo (folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [...foldersTo(above), folder]
}

/** Why this user may not do so; undefined if it may, or if there is no such file. */
function accessFault (file: string, mode: number): unknown {
  try {
    accessSync(file, mode)
    return undefined
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : error
  }
}

/** `node:sqlite` if Node has it, otherwise the package with the same interface. */
export async function sqliteBinding (): Promise<typeof import('@photostructure/sqlite')> {
  if (!isBuiltin('node:sqlite')) return import('@photostructure/sqlite')
  // Node 22 warns that it is experimental, although since 22.13 it is the same as in Node 24.
  const { emitWarning } = process
  process.emitWarning = () => {}
  return import('node:sqlite' as '@photostructure/sqlite').finally(() => { process.emitWarning = emitWarning })
}
