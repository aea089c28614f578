import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { codeOf, messageOf } from '../../error-message.js'
import { besides, isPathFault, obstacleTo, requireFile } from './database-file.js'
import { CREATE_TABLE, FORMAT, requireFormat } from './table-format.js'
import { isDamage, isDenial, SqliteError, transactionError, unusable } from './sqlite-error.js'

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
    requireFile(path)
    database = new Database(path)
    database.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
    // Before anything is written, so that another program's file is not changed.
    requireFormat(database, path)
    database.exec(SETTINGS)
    if (!wasOpen) database.exec(`BEGIN IMMEDIATE; ${CREATE_TABLE}; PRAGMA user_version = ${FORMAT}; COMMIT`)
    requireLogOnSameDevice(path)
    if (wasOpen) emptyLog(database, path)
    return database
  } catch (error) {
    database?.close()
    throw openingError(error, path)
  }
}

/** In a container, a file may be mounted into a folder that is not kept. With its table, it has a log. */
function requireLogOnSameDevice (path: string): void {
  const file = statSync(path, { throwIfNoEntry: false })
  const log = statSync(besides(path).log, { throwIfNoEntry: false })
  if (file === undefined || log === undefined || file.dev === log.dev) return
  throw unusable(`${path} is mounted without its folder, so that its log would be lost: mount the folder`)
}

/** After a failed sync the log may not be on disk, and no later sync would report it. */
function emptyLog (database: DatabaseSyncInstance, path: string): void {
  const { busy } = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
  if (busy === 0) return
  const message = `another program is reading the log of ${path}, which must be emptied: stop that program`
  throw new SqliteError('busy', message, 'connection')
}

/** A full disk or a lock, for example, leaves the file usable. */
function openingError (error: unknown, path: string): SqliteError {
  if (isDeniedByNode(error)) return unusable(deniedByNode(error, dirname(path)))
  const reason = messageOf(error)
  if (isDamage(error)) return unusable(`${path} is damaged, or is not an SQLite database (${reason}): it was not changed; restore a backup, or choose another folder`)
  if (isDenial(error) || isPathFault(error)) return unusable(obstacleTo(path) ?? `${path} cannot be opened (${reason}), and it is not for its permissions: look at the path, the mount options, the limit on open files, and what AppArmor or SELinux forbids`)
  return transactionError(error)
}

/** Whether Node's permission model (`--permission`) denied an access, or an addon. */
export function isDeniedByNode (error: unknown): boolean {
  return ['ERR_ACCESS_DENIED', 'ERR_DLOPEN_DISABLED'].includes(String(codeOf(error)))
}

/** What Node's permission model has to allow, in a sentence. */
export function deniedByNode (error: unknown, folder: string): string {
  const { permission = 'addons' } = error as { permission?: string }
  return `Node's permission model denies ${permission}: start Node with --allow-worker, with --allow-fs-read for the code, and with --allow-fs-read and --allow-fs-write for ${folder}; Node 20 with --allow-addons too`
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
