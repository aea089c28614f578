import { messageOf } from '../../error-message.js'
import { PlantNotStored, PlantOutcomeUnknown, type NewPlant, type PlantStore } from '../../stores/plant-store.js'
import type { Entry } from '../sources/plant-source.js'
import type { Tally } from '../tally.js'
import { TransferFault } from '../transfer-fault.js'

/** Milliseconds for which a plant is retried, for example during an election. */
const RETRY_MS = 60_000
/** What pending plants may weigh together, so that memory use does not grow with the size of the source. */
const MAX_PENDING = 6_000_000
/** After this many failures in a row, the store is at fault, not the plants. */
const MAX_FAILED = 100

/**
 * Creates plants through a store, which batches and retries them and reports each outcome. A copy can be interrupted
 * and run again at any time, since existing plants are not changed.
 * @param signal if aborted, the store is closed, which writes pending plants once, without retries
 */
export async function createPlants (
  pages: AsyncIterable<Iterable<Entry>>, store: PlantStore, tally: Tally, signal: AbortSignal
): Promise<void> {
  const pending = { weight: 0 }
  /** Plants that failed since the last success. */
  const failed: [place: string, reason: PlantNotStored | PlantOutcomeUnknown][] = []
  let fault: unknown
  let wake: (() => void) | undefined
  signal.addEventListener('abort', () => { store.close?.() })

  async function create (place: string, plant: NewPlant): Promise<void> {
    pending.weight += weightOf(plant)
    try {
      const outcome = await store.create(plant, performance.now() + RETRY_MS)
      if (outcome === 'stored') tally.copied++
      else if (outcome === 'same') tally.alreadyThere++
      else tally.addConflict(place, plant.id)
      // The store accepts other plants, so these are at fault.
      if (failed.length > 0 && fault === undefined && !signal.aborted) reportFailed()
    } catch (reason) {
      if (!(reason instanceof PlantNotStored || reason instanceof PlantOutcomeUnknown)) fault ??= reason
      else if (failed.push([place, reason]) >= MAX_FAILED) blameStore(reason)
    }
    pending.weight -= weightOf(plant)
    wake?.()
  }

  function reportFailed (): void {
    for (const [place, reason] of failed.splice(0)) {
      const outcome = reason instanceof PlantOutcomeUnknown ? 'it may have been stored' : 'it was not stored'
      tally.addInvalid(place, `${outcome}: ${reason.message}`)
    }
  }

  function blameStore (reason: unknown): void {
    fault ??= new TransferFault(`${messageOf(reason)}: run it again to continue`)
  }

  /** Resolves when pending plants weigh no more than this. */
  async function settled (weight: number): Promise<void> {
    while (pending.weight > weight) await new Promise<void>(resolve => { wake = resolve })
  }

  try {
    for await (const page of pages) {
      for (const { place, plant } of page) {
        if (typeof plant === 'string') tally.addInvalid(place, plant)
        else create(place, plant)
        if (pending.weight > MAX_PENDING) await settled(MAX_PENDING)
      }
      if (fault !== undefined || signal.aborted) break
    }
  } finally {
    await settled(0)
  }
  signal.throwIfAborted()
  if (failed.length > 0) await store.ready?.().catch(blameStore)
  if (fault !== undefined) throw fault
  reportFailed()
}

/** About the bytes of memory that a pending plant takes. */
function weightOf ({ name, tag = '' }: NewPlant): number {
  return 1_000 + name.length + tag.length
}
