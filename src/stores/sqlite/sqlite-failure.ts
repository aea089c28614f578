import { codeOf, messageOf } from '../../error-message.js'

/** Why a transaction failed, or the opening of the database. */
export class SqliteFailure extends Error {
  /** Whether its plants may have been stored. */
  readonly outcomeUnknown: boolean = false
  /** Whether retrying soon would fail for the same reason. */
  readonly permanent: boolean = false
  /** Whether the file must not be written. */
  readonly unusable: boolean = false
  /** Whether the connection is unusable, so that the file has to be opened again. */
  readonly reopen: boolean = false

  constructor (message: string, consequences: Partial<Omit<SqliteFailure, keyof Error>> = {}) {
    super(message)
    Object.assign(this, consequences)
  }
}

/** The failure of a file that must not be written. */
export function unusable (message: string): SqliteFailure {
  return new SqliteFailure(message, { unusable: true, permanent: true, reopen: true })
}

// Primary result codes, https://sqlite.org/rescode.html
/** Another connection holds the lock. */
export const BUSY = 5
const CORRUPT = 11
const FULL = 13
/** A row was refused, for example because its id exists. The transaction is unchanged, and continues. */
export const CONSTRAINT = 19

/** A transaction that fails with one of these stores nothing, even if its commit failed. */
const NEVER_STORED = new Set([BUSY, FULL])
/** These leave the connection usable. A damaged page stays damaged however often the file is opened. */
const STILL_USABLE = new Set([BUSY, CORRUPT, FULL, CONSTRAINT])

/**
 * Converts an error in a transaction that was rolled back.
 * @param inCommit whether the commit itself failed: its record may have reached the disk
 */
export function failureOf (error: unknown, inCommit = false): SqliteFailure {
  if (error instanceof SqliteFailure) return error
  const code = resultCode(error)
  return new SqliteFailure(messageOf(error), {
    outcomeUnknown: inCommit && !NEVER_STORED.has(code),
    // Nobody frees disk space within the timeout of a request.
    permanent: code === FULL,
    reopen: !STILL_USABLE.has(code)
  })
}

const DAMAGED = new Set([CORRUPT, 26])
const NOT_WRITABLE = new Set<unknown>([3 /* PERM */, 8 /* READONLY */, 14 /* CANTOPEN */, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENAMETOOLONG', 'ELOOP'])

/** Converts an error while opening. A full disk or a lock, for example, leaves the file usable. */
export function openingFailureOf (error: unknown, path: string): SqliteFailure {
  const code = resultCode(error)
  if (DAMAGED.has(code)) return unusable(`${path} is damaged, or is not an SQLite database (${messageOf(error)}): it was not changed; restore a backup, or choose another folder`)
  if (NOT_WRITABLE.has(code) || NOT_WRITABLE.has(codeOf(error))) return unusable(`${path} cannot be written (${messageOf(error)}): give this user write permission, or choose another folder`)
  return failureOf(error)
}

/** The primary result code in an error of SQLite; 0 in any other. */
export function resultCode (error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
}
