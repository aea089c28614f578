import { messageOf } from '../../error-message.js'

/**
 * What a failure means for the plants:
 * - `refused`: not stored, and another attempt would fail for the same reason, as on a full disk;
 * - `busy`: not stored, but another attempt may succeed;
 * - `unknown`: they may have been stored;
 * - `unusable`: not stored, and the store cannot be opened until someone does what the message says.
 */
export type FailureKind = 'refused' | 'busy' | 'unknown' | 'unusable'

/** Why plants are not stored, or may not be; in a form that threads can send each other. */
export interface Failure {
  readonly kind: FailureKind
  readonly message: string
  /**
   * What else cannot go on; nothing if it is undefined:
   * - `plant`: one of the plants made the transaction fail, and the others can be stored without it;
   * - `connection`: nothing more may be written by this connection, the file has to be opened again.
   */
  readonly reach?: 'plant' | 'connection' | undefined
}

export class SqliteError extends Error {
  readonly failure: Failure

  constructor (kind: FailureKind, message: string, reach?: 'plant' | 'connection') {
    super(message)
    this.failure = { kind, message, reach }
  }
}

export function unusable (message: string): SqliteError {
  return new SqliteError('unusable', message, 'connection')
}

/** Primary result codes, https://sqlite.org/rescode.html */
export const CODE = { BUSY: 5, CORRUPT: 11, FULL: 13, CONSTRAINT: 19, NOTADB: 26 }

/**
 * An insert that fails with one of these changes nothing, and the file is not at fault: ERROR, TOOBIG, CONSTRAINT,
 * MISMATCH, AUTH, RANGE; 0 is an error of Node's, such as that of a value that cannot be bound.
 */
const REFUSALS = [0, 1, 18, 19, 20, 23, 25]

export function resultCode (error: unknown): number {
  if (error instanceof Error && 'errcode' in error) return Number(error.errcode) & 0xff
  return 0
}

/** Whether SQLite was not allowed to open or write a file: PERM, READONLY, CANTOPEN. */
export function isDenial (error: unknown): boolean {
  return [3, 8, 14].includes(resultCode(error))
}

/** @param inCommit whether the commit itself failed: its record may have reached the disk */
export function transactionError (error: unknown, inCommit = false): SqliteError {
  if (error instanceof SqliteError) return error
  const message = messageOf(error)
  switch (resultCode(error)) {
    case CODE.BUSY:
      return new SqliteError('busy', message)
    case CODE.FULL:
      // Nobody frees disk space within the timeout of a request.
      return new SqliteError('refused', message)
    case CODE.CONSTRAINT:
      // A commit fails if a row violates a deferred foreign key.
      return new SqliteError('refused', message, inCommit ? 'plant' : undefined)
    case CODE.CORRUPT:
      // A damaged page stays damaged however often the file is opened.
      return inCommit ? new SqliteError('unknown', message) : new SqliteError('busy', message, 'plant')
    default:
      return new SqliteError(inCommit ? 'unknown' : 'busy', message, 'connection')
  }
}

/**
 * The error of an insert that the table refuses, without its message, in which a trigger may quote the plant.
 * @throws what is the fault of the file
 */
export function refusalOf (error: unknown): SqliteError {
  if (error instanceof SqliteError) return error
  if (!REFUSALS.includes(resultCode(error))) throw error
  const { errcode = 0, errstr = 'not a value' } = error as { errcode?: number, errstr?: string }
  return new SqliteError('refused', `the table refuses the plant: ${errstr} (SQLite error ${errcode})`, 'plant')
}
