import { codeOf, messageOf } from '../../error-message.js'

/** Why a transaction failed, why the database could not be opened, or why the table refuses a plant. */
export interface Failure {
  readonly message: string
  /** Whether plants may have been stored. */
  readonly outcomeUnknown?: boolean
  /** Whether retrying soon would fail for the same reason. */
  readonly permanent?: boolean
  /** Whether the store cannot be opened. */
  readonly unusable?: boolean
  /** Whether the file has to be opened again. */
  readonly reopen?: boolean
  /** Whether the transaction failed because of one of its rows. */
  readonly ofRow?: boolean
}

/** A failure, which threads send each other without its error. */
export class SqliteError extends Error {
  constructor (readonly failure: Failure) {
    super(failure.message)
  }
}

export function unusable (message: string): SqliteError {
  return new SqliteError({ message, unusable: true, permanent: true, reopen: true })
}

// Primary result codes, https://sqlite.org/rescode.html
const CORRUPT = 11
const FULL = 13
export const CONSTRAINT = 19
/** A transaction that fails with one of these stores nothing, even if its commit failed. */
const NEVER_STORED = new Set([5 /* BUSY */, FULL, CONSTRAINT])
/** These leave the connection usable. A damaged page stays damaged however often the file is opened. */
const STILL_USABLE = new Set([CORRUPT, ...NEVER_STORED])
const NOT_WRITABLE = new Set<unknown>([3 /* PERM */, 8 /* READONLY */, 14 /* CANTOPEN */, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENAMETOOLONG', 'ELOOP'])
/** An insert that fails with one of these changes nothing; 0 stands for a value that cannot be bound. */
const REFUSALS = new Set([0, 1 /* ERROR */, 18 /* TOOBIG */, CONSTRAINT, 20 /* MISMATCH */, 23 /* AUTH */, 25])

/** @param inCommit whether the commit itself failed: its record may have reached the disk */
export function transactionError (error: unknown, inCommit = false): SqliteError {
  if (error instanceof SqliteError) return error
  const code = resultCode(error)
  return new SqliteError({
    message: messageOf(error),
    outcomeUnknown: inCommit && !NEVER_STORED.has(code),
    // Nobody frees disk space within the timeout of a request.
    permanent: code === FULL || code === CONSTRAINT,
    reopen: !STILL_USABLE.has(code),
    // A commit fails if a row violates a deferred foreign key.
    ofRow: code === (inCommit ? CONSTRAINT : CORRUPT)
  })
}

/** The error of an insert that the table refuses, without its message, in which a trigger may quote the plant. */
export function refusalOf (error: unknown): SqliteError {
  // Otherwise the file is at fault.
  if (!REFUSALS.has(resultCode(error))) throw error
  const { errcode = 0, errstr = 'not a value' } = error as { errcode?: number, errstr?: string }
  return new SqliteError({ message: `the table refuses the plant: ${errstr} (SQLite error ${errcode})`, permanent: true })
}

/** A full disk or a lock, for example, leaves the file usable. */
export function openingError (error: unknown, path: string): SqliteError {
  if ([CORRUPT, 26].includes(resultCode(error))) return unusable(`${path} is damaged, or is not an SQLite database (${messageOf(error)}): it was not changed; restore a backup, or choose another folder`)
  if (isNotWritable(error)) return unusable(`${path} cannot be written (${messageOf(error)}): give this user write permission, or choose another folder`)
  return transactionError(error)
}

export function isNotWritable (error: unknown): boolean {
  return NOT_WRITABLE.has(resultCode(error)) || NOT_WRITABLE.has(codeOf(error))
}

export function resultCode (error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
}
