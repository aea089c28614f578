import { messageOf } from '../../error-message.js'

/** The failure of a transaction, or of opening the database. */
export class SqliteFailure extends Error {
  /** Whether its plants may have been stored. */
  readonly outcomeUnknown: boolean = false
  /** Whether retrying soon would fail for the same reason. */
  readonly permanent: boolean = false
  /** Whether the connection is unusable, so that the file has to be opened again. */
  readonly reopen: boolean = false

  constructor (message: string, consequences: Partial<Omit<SqliteFailure, keyof Error>> = {}) {
    super(message)
    Object.assign(this, consequences)
  }
}

/** Primary result codes, https://sqlite.org/rescode.html */
const ERROR = 1
const BUSY = 5
const LOCKED = 6
const CORRUPT = 11
const FULL = 13
const TOOBIG = 18
const CONSTRAINT = 19
const MISMATCH = 20

/** A transaction that fails with one of these stores nothing, even if its commit failed. */
const NEVER_STORED = new Set([BUSY, FULL])
/** These leave the connection usable. A damaged page stays damaged however often the file is opened. */
const STILL_USABLE = new Set([ERROR, BUSY, LOCKED, CORRUPT, FULL, TOOBIG, CONSTRAINT, MISMATCH])

/**
 * Converts an error of SQLite in a transaction that was rolled back.
 * @param inCommit whether the commit itself failed: its record may have reached the disk
 */
export function failureOf (error: unknown, inCommit: boolean): SqliteFailure {
  const code = resultCode(error)
  return new SqliteFailure(messageOf(error), {
    outcomeUnknown: inCommit && !NEVER_STORED.has(code),
    // Nobody frees disk space within the timeout of a request.
    permanent: code === FULL,
    reopen: !STILL_USABLE.has(code)
  })
}

/** The primary result code in an error of SQLite; 0 in any other. */
export function resultCode (error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
}

/** Whether another connection holds the lock. */
export function isLocked (error: unknown): boolean {
  return resultCode(error) === BUSY
}

/** Whether a row was refused, for example because its id exists. The transaction is unchanged, and continues. */
export function violatesConstraint (error: unknown): boolean {
  return resultCode(error) === CONSTRAINT
}
