const INTERVAL = 100
/** A request waits about as long as a timer: above this lag, clients should retry later. */
const TOO_LATE = 500

/**
 * Whether the event loop lags: a timer was more than half a second late twice in a row. Once is not enough: the machine
 * may have been asleep. `@fastify/under-pressure` would refuse requests for a second after a single such stall.
 */
export class EventLoopLag {
  lagging = false
  #expected = performance.now() + INTERVAL
  #wasLate = false

  constructor () {
    setInterval(() => { this.#check() }, INTERVAL).unref()
  }

  #check (): void {
    const now = performance.now()
    const late = now - this.#expected > TOO_LATE
    this.lagging = late && this.#wasLate
    this.#wasLate = late
    this.#expected = now + INTERVAL
  }
}
