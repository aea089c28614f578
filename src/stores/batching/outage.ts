import { LARGEST_BATCH, type PendingCreate } from './pending-creates.js'

const FIRST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 250

type Batch = readonly PendingCreate[]

/** From when a batch fails as a whole until one does not. */
interface State {
  readonly failures: number
  readonly resumeAt: number
  probe: Batch | undefined
}

/**
 * What may be sent after a batch has failed as a whole: because the store is down, or because of one of its plants. So
 * single plants are sent as probes, each time another one, with pauses; then batches of two, four and so on. The plant
 * that fails them all is soon alone.
 */
export class Outage {
  #state: State | undefined
  /** The most plants in a batch. */
  batchLimit = LARGEST_BATCH

  constructor (private readonly random: () => number) {}

  get isOn (): boolean {
    return this.#state !== undefined
  }

  /** Whether a batch may be sent: in an outage one at a time, after a pause. */
  allows (now: number): boolean {
    return this.#state === undefined || (this.#state.probe === undefined && now >= this.#state.resumeAt)
  }

  noteSent (batch: Batch): void {
    if (this.#state !== undefined) this.#state.probe = batch
  }

  noteSuccess (): void {
    this.#state = undefined
    this.batchLimit = Math.min(this.batchLimit * 2, LARGEST_BATCH)
  }

  /** @param batch which has failed as a whole */
  noteFailure (batch: Batch, now: number): void {
    const isSuspect = batch[0]?.failure?.hasFailedAlone === true
    // A plant that fails alone, while others do not, tells nothing about the store.
    if (this.#state === undefined && isSuspect) return
    // Any batch but the probe was in flight when the outage began, and tells nothing new.
    if (this.#state !== undefined && this.#state.probe !== batch) return
    const failures = this.#state?.failures ?? 0
    this.batchLimit = 1
    this.#state = { failures: failures + 1, resumeAt: now + this.pauseAfter(failures), probe: undefined }
  }

  /** Milliseconds to wait after a number of earlier failures, and a random part less. */
  pauseAfter (failures: number): number {
    const longest = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS)
    return longest * (0.5 + this.random() / 2)
  }
}
