// All times are milliseconds. Between these two a full batch is of the right size: larger ones would only wait longer,
// and come near to the driver's time limit.
const SHORT_WRITE = 100
const LONG_WRITE = 400
const FIRST_LIMIT = 500
const LOWEST_LIMIT = 32
const HIGHEST_LIMIT = 4_000
/** Plants from which on the cost of a batch as such hardly counts. */
const CHEAP_BATCH = 64
/** How far what was seen is forgotten with each batch. */
const FORGET = 0.98

/**
 * How large a batch has to be, by what the store and the load were like lately.
 *
 * A batch costs as much as some thirty plants, whatever it holds (a sync to disk, a round trip, waking a thread), so
 * small ones waste the processor. But clients that wait send nothing: the first half of them has to be on its way while
 * the other half is answered. A distant store wants more batches under way, about one for each millisecond of distance.
 */
export class Pace {
  /** Creates that were waiting or under way at once. */
  #crowd = 1
  /** How long a batch takes at least: the distance of the store. */
  #fastest = Infinity
  #limit = FIRST_LIMIT

  /** The most plants that a batch may hold. */
  get limit (): number {
    return this.#limit
  }

  /** As many plants as a batch is worth waiting for, while others come or are under way. */
  get enough (): number {
    const half = this.#crowd / 2
    return Math.min(half, this.#limit, Math.max(CHEAP_BATCH, this.#crowd / Math.max(this.#fastest, 2)))
  }

  /** @param outstanding creates that wait or are under way, with the batch that goes out now */
  sent (outstanding: number): void {
    this.#crowd = Math.max(outstanding, this.#crowd * FORGET)
  }

  returned (plants: number, duration: number): void {
    this.#fastest = Math.min(duration, this.#fastest / FORGET)
    if (duration > LONG_WRITE) this.#limit = Math.max(LOWEST_LIMIT, Math.min(this.#limit, plants) >> 1)
    else if (duration < SHORT_WRITE && plants >= this.#limit) this.#limit = Math.min(HIGHEST_LIMIT, this.#limit * 2)
  }
}
