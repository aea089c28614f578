/** The most plants that a batch holds: larger ones would only take longer, and come close to a driver's time limit. */
export const LARGEST_BATCH = 1_000
/** The number of plants beyond which the cost of the batch itself hardly counts. */
const CHEAP_BATCH = 64
/** The shortest time is divided by this with each batch, so that an old one is forgotten. */
const MEMORY = 0.98
/** The peak falls to half in this time: that most clients wait at once, so that their number shows, is rare. */
const PEAK_HALF_LIFE_MS = 250

/**
 * How large a batch should be, judged by recent load and by how the store responds.
 *
 * A batch of any size costs as much as some thirty plants (a sync to disk, a round trip, waking a thread), so small
 * ones waste the processor. But clients awaiting a response send nothing: the first half must be on its way while the
 * other half is answered. A distant store needs more batches in flight, about one for each millisecond of distance.
 */
export class BatchSizer {
  /** The most plants that were pending or in flight at once. */
  #peakOutstanding = 1
  #peakAt = 0
  /** Milliseconds that the fastest batch took: the distance of the store. */
  #fastest = Infinity

  /** The number of plants worth a batch of their own while others are in flight or still arriving. */
  get worthSending (): number {
    const half = this.#peakOutstanding / 2
    return Math.min(half, LARGEST_BATCH, Math.max(CHEAP_BATCH, this.#peakOutstanding / Math.max(this.#fastest, 2)))
  }

  /**
   * The most plants of a batch. Clients that get their responses together send again together: undivided, a distant
   * store would be idle until all of them have.
   * @param free how many more batches may be in flight
   */
  limit (pending: number, free: number): number {
    return Math.min(Math.ceil(Math.max(this.worthSending * 2, pending / free)), LARGEST_BATCH)
  }

  /** Reports that a batch is sent, and how many plants are pending or in flight. */
  sent (outstanding: number, now: number): void {
    const left = 0.5 ** ((now - this.#peakAt) / PEAK_HALF_LIFE_MS)
    this.#peakOutstanding = Math.max(outstanding, this.#peakOutstanding * left)
    this.#peakAt = now
  }

  /** Reports a batch that was written; one that failed as a whole says nothing about the distance. */
  written (duration: number): void {
    this.#fastest = Math.min(duration, this.#fastest / MEMORY)
  }
}
