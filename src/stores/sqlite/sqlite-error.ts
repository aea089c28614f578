import { messageOf } from '../../error-message.js'

/** Why plants are not stored, or may not be; in a form that threads can send each other. */
export interface Failure {
  /**
   * What it means for the plants:
   * - `refused`: not stored, and another attempt would fail for the same reason, as on a full disk;
   * - `busy`: not stored, but another attempt may succeed;
   * - `unknown`: they may have been stored;
   * - `unusable`: not stored, and the file cannot be opened until someone does what the message says.
   */
  readonly kind: 'refused' | 'busy' | 'unknown' | 'unusable'
  readonly message: string
  /** Whether this connection writes nothing more: the file has to be opened again. */
  readonly closes?: boolean
}

/** A failure, thrown. */
export class SqliteError extends Error {
  constructor (readonly kind: Failure['kind'], message: string) {
    super(message)
  }
}

/** Primary result codes, https://sqlite.org/rescode.html */
export const CODE = {
  ERROR: 1,
  PERM: 3,
  BUSY: 5,
  READONLY: 8,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  TOOBIG: 18,
  CONSTRAINT: 19,
  MISMATCH: 20,
  AUTH: 23,
  RANGE: 25,
  NOTADB: 26
}

/** An error of Node's, such as that of a value that cannot be bound. */
const NO_CODE = 0

/** An insert that fails with one of these changes nothing, and the file is not at fault. */
const REFUSALS = [NO_CODE, CODE.ERROR, CODE.TOOBIG, CODE.CONSTRAINT, CODE.MISMATCH, CODE.AUTH, CODE.RANGE]

export function resultCode (error: unknown): number {
  if (error instanceof Error && 'errcode' in error) return Number(error.errcode) & 0xff
  return NO_CODE
}

/** @param inCommit whether the commit itself failed: its record may have reached the disk */
export function failureOf (error: unknown, inCommit = false): Failure {
  const message = messageOf(error)
  if (error instanceof SqliteError) return { kind: error.kind, message }
  const openKind = inCommit ? 'unknown' : 'busy'
  switch (resultCode(error)) {
    case CODE.BUSY:
      return { kind: 'busy', message }
    case CODE.FULL:
      // Nobody frees disk space within the timeout of a request.
      return { kind: 'refused', message }
    case CODE.CONSTRAINT:
      // A commit fails if a row violates a deferred foreign key.
      return { kind: 'refused', message }
    case CODE.CORRUPT:
      // A damaged page stays damaged however often the file is opened.
      return { kind: openKind, message }
    default:
      return { kind: openKind, message, closes: true }
  }
}

/**
 * The failure of an insert that the table refuses, without its message, in which a trigger may quote the plant.
 * @throws what is the fault of the file
 */
export function refusalOf (error: unknown): Failure {
  if (!REFUSALS.includes(resultCode(error))) throw error
  const { errcode = 0, errstr = 'not a value' } = error as { errcode?: number, errstr?: string }
  return { kind: 'refused', message: `the table refuses the plant: ${errstr} (SQLite error ${errcode})` }
}
