import type { NewPlant } from '../../stores/plant-store.js'

/** When a page is full, in sources that choose its size: by its plants, or by the characters of their texts. */
export const PAGE_PLANTS = 1_000
const PAGE_CHARACTERS = 1_000_000

/** An entry of a source that is not a plant. */
export interface InvalidEntry {
  /** Where it was found, for people: `line 17`, `id 5`. */
  readonly place: string
  readonly reason: string
}

/** The plants that a source reads at once. */
export class SourcePage {
  readonly plants: NewPlant[] = []
  readonly invalid: InvalidEntry[] = []
  /** The line number of each plant, from 1, in a source that has lines. */
  readonly #lines: number[] = []
  #characters = 0

  /** @param line its line number, from 1, in a source that has lines */
  add (plant: NewPlant, line?: number): void {
    this.plants.push(plant)
    if (line !== undefined) this.#lines.push(line)
    this.#characters += charactersOf(plant)
  }

  /** The number of entries. */
  get length (): number {
    return this.plants.length + this.invalid.length
  }

  get isFull (): boolean {
    return this.length >= PAGE_PLANTS || this.#characters > PAGE_CHARACTERS
  }

  /** Describes, for people, a plant whose id another plant has, and where it was found. */
  conflict (index: number): InvalidEntry {
    const id = this.plants[index]?.id
    const line = this.#lines[index]
    if (line === undefined) return { place: `id ${id}`, reason: 'another plant has this id' }
    return { place: `line ${line}`, reason: `another plant has the id ${id}` }
  }
}

export interface PlantSource {
  /** The approximate final position; undefined if unknown. */
  readonly size: number | undefined
  /** How much of the source has been read, in the unit of `size`. */
  readonly position: number
  /**
   * All plants, one page at a time, so that memory use is that of one page.
   * @param signal if aborted, the iteration stops early, without an error
   * @throws {TransferFault} if the source cannot be read any further
   */
  pages (signal: AbortSignal): AsyncIterable<SourcePage>
  close (): Promise<void>
}

export function charactersOf ({ name, tag = '' }: NewPlant): number {
  return name.length + tag.length
}
