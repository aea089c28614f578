import { ApiError } from '../../../api-error.js'
import { validatePlant, type NewPlant } from '../../../plant.js'

export const LOWEST_ID = -(2n ** 63n)

export interface Entry {
  /** For people: `line 17`, `id 5`. */
  readonly where: string
  /** The plant, or the reason why it is not a valid one. */
  readonly plant: NewPlant | string
}

export interface PlantSource {
  /**
   * Every plant in the order of their ids, up to the highest id of the start: a service could create plants faster than
   * they are copied. Once the signal is aborted, waiting for them ends with an error.
   */
  pages (signal: AbortSignal): AsyncIterable<readonly Entry[]>
  /** How much of the source has been read when so many entries have been copied, from 0 to 1; NaN if unknown. */
  part (done: number): number
}

/** Why a command cannot start or continue; the message is one line. */
export class CopyError extends Error {}

/** Reads an entry, and validates it as `POST /plants` validates its body. */
export function readEntry (where: string, read: () => unknown): Entry {
  try {
    const result = validatePlant(withoutNullTag(read()))
    if ('error' in result) throw result.error
    return { where, plant: result.value }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { where, plant: error.message.replace(/^The (body|plant)/, 'it') }
  }
}

/** Other programs write null where there is no tag. */
function withoutNullTag (value: unknown): unknown {
  const hasNullTag = typeof value === 'object' && value !== null && 'tag' in value && value.tag === null
  return hasNullTag ? { ...value, tag: undefined } : value
}
