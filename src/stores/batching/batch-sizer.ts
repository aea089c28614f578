// All times are milliseconds.
/** The most plants that a batch holds: larger ones would only take longer, and come close to a driver's time limit. */
export const LARGEST_BATCH = 1_000
/** The number of plants beyond which the cost of the batch itself hardly counts. */
const CHEAP_BATCH = 64
/** The most batches in flight for each millisecond of distance; see `portion`. */
const BATCHES_PER_MILLISECOND = 1 / 4
/** The shortest time is divided by this with each batch, so that an old one is forgotten. */
const MEMORY = 0.98
/**
 * Milliseconds in which the peak falls to half. The number of clients shows only when most of them wait at once, which
 * is rare. If it were forgotten in between, batches would stay small, and throughput a sixth lower.
 */
const PEAK_HALF_LIFE = 250

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
  /** The shortest time that a batch took: the distance of the store. */
  #fastest = Infinity

  /** The number of plants worth a batch of their own while others are in flight or still arriving. */
  get worthSending (): number {
    const half = this.#peakOutstanding / 2
    return Math.min(half, LARGEST_BATCH, Math.max(CHEAP_BATCH, this.#peakOutstanding / Math.max(this.#fastest, 2)))
  }

  /**
   * The size of the parts into which pending plants are divided while more batches may be in flight. Clients that get
   * their responses together send again together: undivided, a distant store would be idle until all of them have.
   */
  get portion (): number {
    const batches = this.#fastest * BATCHES_PER_MILLISECOND
    return this.#fastest === Infinity ? LARGEST_BATCH : Math.max(CHEAP_BATCH, this.#peakOutstanding / batches)
  }

  /**
   * @param outstanding plants that are pending or in flight, including the batch that is being sent
   * @param now the time, on the clock that measures durations
   */
  sent (outstanding: number, now: number): void {
    const left = 0.5 ** ((now - this.#peakAt) / PEAK_HALF_LIFE)
    this.#peakOutstanding = Math.max(outstanding, this.#peakOutstanding * left)
    this.#peakAt = now
  }

  /** Reports a batch that was written; one that failed as a whole says nothing about the distance. */
  written (duration: number): void {
    this.#fastest = Math.min(duration, this.#fastest / MEMORY)
  }
}
