import { setImmediate as turn } from 'node:timers/promises'
import type { CreateOutcome, NewPlant, PlantStore } from '../../stores/plant-store.js'
import type { PlantsFile } from './plants-file.js'

/** Milliseconds in which a plant is tried again, for example while the cluster elects a primary. */
const PATIENCE = 60_000
/** What is on its way at most, so that a million plants take no more memory than these. */
const WINDOW_PLANTS = 20_000
const WINDOW_CHARACTERS = 32_000_000

/** What became of the plants. */
export interface CopyCounts {
  moved: number
  alreadyThere: number
  /** Another plant was there under the id, and was left. */
  inConflict: number
  /** Not text that a plant may have; not copied. */
  unreadable: number
  /** Why the copying stopped before the end. */
  fault: Error | undefined
}

export interface CopyOptions {
  /** Is told of each plant that was not copied. */
  onLeft: (id: bigint, reason: string) => void
  onProgress: (done: number) => void
  /** Aborted: nothing more is read, and what is on its way is waited for. */
  signal: AbortSignal
}

/**
 * Copies all plants of a file into a store. It can be broken off and run again at any time, as a plant that is there
 * already is left as it is; creating through the store has its promises: shared writes, tries again, true outcomes.
 */
export async function copyPlants (file: PlantsFile, store: PlantStore, { onLeft, onProgress, signal }: CopyOptions): Promise<CopyCounts> {
  const counts: CopyCounts = { moved: 0, alreadyThere: 0, inConflict: 0, unreadable: 0, fault: undefined }
  const underWay = new UnderWay()

  function settle (plant: NewPlant, outcome: CreateOutcome | Error): void {
    underWay.remove(plant)
    if (outcome === 'stored') counts.moved++
    else if (outcome === 'same') counts.alreadyThere++
    else if (outcome === 'taken') {
      counts.inConflict++
      onLeft(plant.id, 'another plant has this id there')
    } else counts.fault ??= outcome
  }

  for (const page of file.pages()) {
    if (signal.aborted || counts.fault !== undefined) break
    for (const plant of page) {
      if ('unreadable' in plant) {
        counts.unreadable++
        onLeft(plant.id, 'its name or tag is no UTF-8 text')
        continue
      }
      underWay.add(plant)
      store.create(plant, performance.now() + PATIENCE).then(
        outcome => settle(plant, outcome), (error: Error) => settle(plant, error))
    }
    onProgress(counts.moved + counts.alreadyThere + counts.inConflict + counts.unreadable)
    // Reading blocks: between two pages the store gets its turn.
    await turn()
    while (underWay.isFull()) await underWay.settled()
  }
  while (!underWay.isEmpty()) {
    await underWay.settled()
    onProgress(counts.moved + counts.alreadyThere + counts.inConflict + counts.unreadable)
  }
  return counts
}

class UnderWay {
  #plants = 0
  #characters = 0
  #wake: (() => void) | undefined

  add (plant: NewPlant): void {
    this.#plants++
    this.#characters += charactersOf(plant)
  }

  remove (plant: NewPlant): void {
    this.#plants--
    this.#characters -= charactersOf(plant)
    this.#wake?.()
  }

  isFull (): boolean {
    return this.#plants >= WINDOW_PLANTS || this.#characters >= WINDOW_CHARACTERS
  }

  isEmpty (): boolean {
    return this.#plants === 0
  }

  /** Resolves when the next plant has come to its end. */
  async settled (): Promise<void> {
    await new Promise<void>(resolve => { this.#wake = resolve })
  }
}

function charactersOf ({ name, tag }: NewPlant): number {
  return name.length + (tag?.length ?? 0)
}
