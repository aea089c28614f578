import type { CreateOutcome } from '../../plant-store.js'

/** Plants as columns: three flat arrays are cheaper to post to a thread than many objects. */
export interface PlantColumns {
  ids: BigInt64Array
  names: string[]
  tags: (string | null)[]
}

/** A request to the database thread; all but `close` get one answer, in order. */
export type SqliteRequest =
  /** `until`: when to stop waiting for another program's lock, on the clock of `monotonicMs`. */
  | { kind: 'write', plants: PlantColumns, until: number }
  | { kind: 'check', thoroughly: boolean }
  | { kind: 'close' }

/**
 * `outcomes` holds an `OUTCOMES` index for each plant; null if all are `stored`. A thread that `ends` reads no more
 * requests and exits: only its exit closes all files, since `@photostructure/sqlite` keeps statements, and with them
 * the connection, until then.
 */
export type SqliteAnswer =
  | { kind: 'done', outcomes: Uint8Array | null }
  | { kind: 'failed', message: string, perhapsStored: boolean, permanent: boolean, ends: boolean }
  | { kind: 'unusable', message: string, ends: true }

/** Outcomes are posted as indexes of this array: a new Uint8Array means that all are `stored`. */
export const OUTCOMES: readonly CreateOutcome[] = ['stored', 'same', 'taken']
export const SAME = OUTCOMES.indexOf('same')
export const TAKEN = OUTCOMES.indexOf('taken')
