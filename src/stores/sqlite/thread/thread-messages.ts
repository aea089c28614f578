import type { CreateOutcome, NewPlant } from '../../plant-store.js'

/** Plants as they are posted to a thread. A string for each name and tag would take 2 % more of all threads' time. */
export interface PackedPlants {
  ids: BigInt64Array
  /** Of each plant, the length of its name, and that of its tag; -1 if it has no tag. */
  lengths: Int32Array
  /** All names and tags. */
  texts: string
}

/** Plants as a message for the thread. */
export function packPlants (plants: readonly NewPlant[]): PackedPlants {
  const ids = new BigInt64Array(plants.length)
  const lengths = new Int32Array(2 * plants.length)
  const texts: string[] = []
  plants.forEach(({ id, name, tag }, i) => {
    ids[i] = id
    lengths[2 * i] = name.length
    lengths[2 * i + 1] = tag?.length ?? -1
    texts.push(name, tag ?? '')
  })
  return { ids, lengths, texts: texts.join('') }
}

/** The plants of a message, exactly as they were packed. */
export function unpackPlants ({ ids, lengths, texts }: PackedPlants): NewPlant[] {
  const plants: NewPlant[] = []
  let start = 0
  ids.forEach((id, i) => {
    const name = texts.slice(start, start += lengths[2 * i] ?? 0)
    const length = lengths[2 * i + 1] ?? -1
    plants.push(length < 0 ? { id, name } : { id, name, tag: texts.slice(start, start += length) })
  })
  return plants
}

/** A request to the database thread; all but `close` get one answer, in order. */
export type SqliteRequest =
  /** `until`: when to stop waiting for another program's lock, on the clock of `monotonicMs`. */
  | { kind: 'write', plants: PackedPlants, until: number }
  | { kind: 'check', thoroughly: boolean }
  | { kind: 'close' }

/**
 * `outcomes` holds an `OUTCOMES` index for each plant; null if all are `stored`. A thread that `ends` reads no more
 * requests and exits: only its exit closes all files, since `@photostructure/sqlite` keeps statements, and with them
 * the connection, until then.
 */
export type SqliteAnswer =
  | { kind: 'done', outcomes: Uint8Array | null }
  | { kind: 'failed' | 'unusable', message: string, outcomeUnknown: boolean, permanent: boolean, ends: boolean }

/** Outcomes are posted as indexes of this array: a new Uint8Array means that all are `stored`. */
export const OUTCOMES: readonly CreateOutcome[] = ['stored', 'same', 'taken']
export const SAME = OUTCOMES.indexOf('same')
export const TAKEN = OUTCOMES.indexOf('taken')
