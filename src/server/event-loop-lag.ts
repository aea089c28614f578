const INTERVAL = 100
/** A request waits about as long as a timer does: beyond this, clients do better to come back later. */
const TOO_LATE = 500

/**
 * Whether the event loop lags: a timer came more than half a second late twice in a row. Once tells nothing: the machine
 * may have slept. It costs ten timers a second, and nothing for a request.
 *
 * `@fastify/under-pressure` refuses everything for a second after a single stall of one (no sample is a delay without end
 * to it): a healthy service that was paused would answer 503.
 */
export class EventLoopLag {
  #expected = performance.now() + INTERVAL
  #wasLate = false
  #lagging = false
  readonly #timer = setInterval(() => { this.#check() }, INTERVAL).unref()

  get lagging (): boolean {
    return this.#lagging
  }

  stop (): void {
    clearInterval(this.#timer)
  }

  #check (): void {
    const now = performance.now()
    const late = now - this.#expected > TOO_LATE
    this.#lagging = late && this.#wasLate
    this.#wasLate = late
    this.#expected = now + INTERVAL
  }
}
