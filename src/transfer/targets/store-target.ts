import { setImmediate as turn } from 'node:timers/promises'
import { messageOf } from '../../error-message.js'
import { PlantNotStored, PlantPerhapsStored, type NewPlant, type PlantStore } from '../../stores/plant-store.js'
import type { PlantTarget } from '../run-copy.js'
import { charactersOf, type InvalidEntry, type SourcePage } from '../sources/plant-source.js'
import type { Tally } from '../tally.js'
import { TransferFault } from '../transfer-fault.js'

/** Milliseconds for which a plant is retried, for example during an election. */
const RETRY_MS = 60_000
/** Limits of pending plants, so that memory use does not grow with the size of the source. */
const WINDOW_PLANTS = 6_000
const WINDOW_CHARACTERS = 8_000_000
/** After this many failures in a row, the store is at fault, not the plants. */
const MAX_FAILED = 100

/**
 * Creates plants through a store, which batches and retries them and reports each outcome. A copy can be interrupted
 * and run again at any time, since existing plants are not changed.
 * @param signal if aborted, the store is closed, which writes pending plants once, without retries
 */
export function storeTarget (store: PlantStore, tally: Tally, signal: AbortSignal): PlantTarget {
  const pending = { plants: 0, characters: 0 }
  /** Plants that failed since the last success. */
  const failed: InvalidEntry[] = []
  let fault: unknown
  let closed: Promise<void> | undefined
  let wake: (() => void) | undefined
  signal.addEventListener('abort', () => { closed = store.close?.() })

  async function create (page: SourcePage, index: number, plant: NewPlant, deadline: number): Promise<void> {
    pending.plants++
    pending.characters += charactersOf(plant)
    try {
      const outcome = await store.create(plant, deadline)
      if (outcome === 'stored') tally.copied++
      else if (outcome === 'same') tally.alreadyThere++
      else tally.inConflict(page.conflict(index))
      if (failed.length > 0 && fault === undefined && !signal.aborted) nameFailed()
    } catch (reason) {
      if (!(reason instanceof PlantNotStored || reason instanceof PlantPerhapsStored)) {
        fault ??= reason
      } else if (failed.push({ place: page.conflict(index).place, reason: reason.message }) >= MAX_FAILED) {
        fault ??= asTransferFault(reason)
      }
    }
    pending.plants--
    pending.characters -= charactersOf(plant)
    wake?.()
  }

  /** Since the store accepts other plants, these are at fault. */
  function nameFailed (): void {
    for (const { place, reason } of failed.splice(0)) tally.invalid({ place, reason: `the store does not accept it: ${reason}` })
  }

  /** Resolves when the next plant has its outcome. */
  async function settled (): Promise<void> {
    await new Promise<void>(resolve => { wake = resolve })
  }

  async function finish (): Promise<void> {
    while (pending.plants > 0) await settled()
    await closed
    if (signal.aborted) return
    if (failed.length > 0) await store.ready?.().catch((reason: unknown) => { fault ??= asTransferFault(reason) })
    if (fault !== undefined) throw fault
    nameFailed()
  }

  return {
    async write (page) {
      const deadline = performance.now() + RETRY_MS
      page.plants.forEach((plant, index) => { create(page, index, plant, deadline) })
      // Reading may block the event loop, so the store gets a turn of it between pages.
      await turn()
      while (pending.plants >= WINDOW_PLANTS || pending.characters >= WINDOW_CHARACTERS) await settled()
      if (fault !== undefined) await finish()
    },
    finish
  }
}

function asTransferFault (reason: unknown): TransferFault {
  return new TransferFault(messageOf(reason), { temporary: true })
}
