import { setImmediate as turn } from 'node:timers/promises'
import { messageOf } from '../../error-message.js'
import { PlantNotStored, PlantPerhapsStored, type CreateOutcome, type NewPlant, type PlantStore } from '../../stores/plant-store.js'
import { charactersOf, type InvalidEntry, type SourcePage } from '../sources/plant-source.js'
import type { PlantTarget } from '../run-copy.js'
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
 */
export class StoreTarget implements PlantTarget {
  readonly #store: PlantStore
  readonly #tally: Tally
  readonly #signal: AbortSignal
  #plants = 0
  #characters = 0
  /** Plants that failed since the last success. */
  #failed: InvalidEntry[] = []
  #fault: unknown
  #closed: Promise<void> | undefined
  #wake: (() => void) | undefined

  /** @param signal if aborted, the store is closed, which writes pending plants once, without retries */
  constructor (store: PlantStore, tally: Tally, signal: AbortSignal) {
    this.#store = store
    this.#tally = tally
    this.#signal = signal
    signal.addEventListener('abort', () => { this.#closed = store.close?.() })
  }

  async write (page: SourcePage): Promise<void> {
    const deadline = performance.now() + RETRY_MS
    page.plants.forEach((plant, index) => {
      this.#plants++
      this.#characters += charactersOf(plant)
      this.#store.create(plant, deadline).then(
        outcome => this.#settle(page, index, plant, outcome),
        (reason: unknown) => this.#fail(page, index, plant, reason)
      )
    })
    // Reading may block the event loop, so the store gets a turn of it between pages.
    await turn()
    while (this.#plants >= WINDOW_PLANTS || this.#characters >= WINDOW_CHARACTERS) await this.#settled()
    if (this.#fault !== undefined) await this.finish()
  }

  async finish (): Promise<void> {
    while (this.#plants > 0) await this.#settled()
    await this.#closed
    if (this.#signal.aborted) return
    if (this.#failed.length > 0) {
      await this.#store.ready?.().catch((reason: unknown) => { this.#fault ??= asTransferFault(reason) })
    }
    if (this.#fault !== undefined) throw this.#fault
    this.#nameFailed()
  }

  #settle (page: SourcePage, index: number, plant: NewPlant, outcome: CreateOutcome): void {
    if (outcome === 'stored') this.#tally.copied++
    else if (outcome === 'same') this.#tally.alreadyThere++
    else this.#tally.inConflict(page.conflict(index))
    if (this.#failed.length > 0 && this.#fault === undefined) this.#nameFailed()
    this.#remove(plant)
  }

  #fail (page: SourcePage, index: number, plant: NewPlant, reason: unknown): void {
    if (!(reason instanceof PlantNotStored || reason instanceof PlantPerhapsStored)) {
      this.#fault ??= reason
    } else if (this.#failed.push({ place: page.conflict(index).place, reason: reason.message }) >= MAX_FAILED) {
      this.#fault ??= asTransferFault(reason)
    }
    this.#remove(plant)
  }

  /** Since the store accepts other plants, these are at fault. */
  #nameFailed (): void {
    for (const { place, reason } of this.#failed.splice(0)) this.#tally.invalid({ place, reason: `the store does not accept it: ${reason}` })
  }

  #remove (plant: NewPlant): void {
    this.#plants--
    this.#characters -= charactersOf(plant)
    this.#wake?.()
  }

  /** Resolves when the next plant has its outcome. */
  async #settled (): Promise<void> {
    await new Promise<void>(resolve => { this.#wake = resolve })
  }
}

function asTransferFault (reason: unknown): TransferFault {
  return new TransferFault(messageOf(reason), { temporary: true })
}
