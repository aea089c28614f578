import type { Clock, Timer } from '../../clock.js'
import { giveUp, type PendingCreate } from './pending-create.js'

/** A request whose plant cannot be written in time is given up this long before its deadline, for the response. */
export const RESPONSE_TIME_MS = 50
const INTERVAL_MS = 10

/** Gives up pending requests shortly before their deadlines, by one timer for all. */
export class Expiry {
  readonly #clock: Clock
  readonly #visit: (waits: (create: PendingCreate) => boolean) => void
  #watched = Infinity
  #timer: Timer | undefined

  /** @param visit keeps only those pending requests for which its argument returns true */
  constructor (clock: Clock, visit: (waits: (create: PendingCreate) => boolean) => void) {
    this.#clock = clock
    this.#visit = visit
  }

  /** Watches a deadline. */
  watch (deadline: number): void {
    if (deadline < this.#watched) this.#arm(deadline, 1)
  }

  stop (): void {
    this.#timer?.clear()
    this.#watched = Infinity
  }

  #arm (deadline: number, shortestDelay: number): void {
    this.stop()
    this.#watched = deadline
    const delay = Math.max(deadline - RESPONSE_TIME_MS - this.#clock.now(), shortestDelay)
    this.#timer = this.#clock.setTimeout(this.#expire, delay)
    this.#timer.unref()
  }

  readonly #expire = (): void => {
    this.stop()
    const until = this.#clock.now() + RESPONSE_TIME_MS
    let next = Infinity
    this.#visit(create => {
      if (create.deadline <= until) {
        giveUp(create)
        return false
      }
      next = Math.min(next, create.deadline)
      return true
    })
    // Not a timer for each of thousands.
    if (next < Infinity) this.#arm(next, INTERVAL_MS)
  }
}
