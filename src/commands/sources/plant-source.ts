import type { NewPlant } from '../../plant-store.js'

export interface Entry {
  /** For people: `line 17`, `id 5`. */
  readonly where: string
  /** The plant, or the reason why it is not a valid one. */
  readonly plant: NewPlant | string
}

export interface PlantSource {
  /**
   * Every plant that was stored at the start, and some of the later ones, in pages, so that memory use does not grow
   * with their number.
   * @param signal if aborted, waiting for entries ends with an error
   */
  pages (signal: AbortSignal): AsyncIterable<readonly Entry[]>
  /**
   * How much of the source has been read, from 0 to 1; NaN if unknown.
   * @param done how many entries have been copied
   */
  part (done: number): number
}

/** Why a command cannot start or continue; the message is one line. */
export class CopyError extends Error {}
