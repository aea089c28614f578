import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from '../../error-message.js'
import { unusable } from './sqlite-error.js'

/** Identifies a file while it is open; undefined if there is none, or if it cannot be reached. */
export function identityOf (path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

/** The write-ahead log and its index, which lie beside the file itself if the path is a symbolic link. */
export function besides (path: string): { log: string, index: string } {
  const file = existsSync(path) ? realpathSync(path) : path
  return { log: `${file}-wal`, index: `${file}-shm` }
}

export function hasLog (path: string): boolean {
  const { log } = besides(path)
  return existsSync(log) && statSync(log).size > 0
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
    return byteOf(path, 18) === 2
  } catch {
    // If there is a file, its opening will report why it cannot be read.
    return identityOf(path) !== undefined
  }
}

/**
 * Reads a byte by another program: a process that closes any descriptor of a file loses the locks that its SQLite
 * connections hold on it, the host's too (https://sqlite.org/howtocorrupt.html, section 2.2).
 */
function byteOf (path: string, position: number): number {
  const args = ['-A', 'n', '-t', 'u1', '-j', String(position), '-N', '1', path]
  try {
    const { error, stdout } = spawnSync('od', args, { env: { PATH: process.env.PATH }, encoding: 'utf8' })
    if (error === undefined && stdout !== '') return Number(stdout)
  } catch {
    // Node's permission model allows no other process.
  }
  return byteOfHeldFile(path, position)
}

/** Files that were read without another program, by identity. They stay open. */
const heldFiles = new Map<string | undefined, number>()

function byteOfHeldFile (path: string, position: number): number {
  const identity = identityOf(path)
  const file = heldFiles.get(identity) ?? openSync(path, 'r')
  heldFiles.set(identity, file)
  const byte = Buffer.alloc(1)
  readSync(file, byte, 0, 1, position)
  return byte[0] ?? 0
}

const NOT_REACHABLE = new Set<unknown>(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENAMETOOLONG', 'ELOOP'])

/** Whether a system call failed because of the path, or of this user's permissions. */
export function isPathFault (error: unknown): boolean {
  return NOT_REACHABLE.has(codeOf(error))
}

/** @throws {SqliteError} if something else than a file is at the path: SQLite would open a device */
export function requireFile (path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || found.isFile()) return
  const what = found.isDirectory() ? 'is a folder' : 'is not a regular file'
  throw unusable(`${path} ${what}, but must be a file: move it away, or choose another folder`)
}

/** What keeps this user from writing a database file, and what to do; undefined if nothing is found. */
export function obstacleTo (path: string): string | undefined {
  const folder = nearestFolder(path)
  if (!statSync(folder).isDirectory()) {
    return `${folder} is a file, but must be a folder: move it away, or choose another folder`
  }
  const { log, index } = besides(path)
  const toOwner = (file: string) => `while no program has the database open, give it the owner of the database: chown --reference=${path} ${file}`
  const toUser = 'give this user write permission'
  return obstacleAt(path, constants.R_OK | constants.W_OK, toUser) ??
    obstacleAt(log, constants.R_OK | constants.W_OK, toOwner(log)) ??
    obstacleAt(index, constants.R_OK | constants.W_OK, toOwner(index)) ??
    obstacleAt(folder, constants.W_OK | constants.X_OK, `${toUser}, or choose another folder`)
}

/** @param remedy what to do if its permissions are at fault */
function obstacleAt (file: string, mode: number, remedy: string): string | undefined {
  const fault = accessFault(file, mode)
  switch (fault) {
    case undefined:
    case 'ENOENT':
      return undefined
    case 'EROFS':
      return `${file} is on a file system that is read-only: mount it for writing, or choose another folder`
    case 'EACCES':
      return `${file}, which belongs to uid ${statSync(file).uid}, cannot be written by this user (uid ${process.getuid?.()}): ${remedy}`
    case 'EPERM':
      return `${file} is protected from any change: look at its attributes (lsattr), or choose another folder`
    default:
      // Such as a name that is too long, or a symbolic link to itself.
      return `${file} cannot be opened (${String(fault)}): choose another folder`
  }
}

/** The nearest thing on the way to a path that exists; it may be a file. */
function nearestFolder (path: string): string {
  let folder = dirname(path)
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  return folder
}

/** The code of the reason why this user has no such access; undefined if it has. */
export function accessFault (path: string, mode: number): unknown {
  try {
    accessSync(path, mode)
    return undefined
  } catch (error) {
    return codeOf(error)
  }
}
