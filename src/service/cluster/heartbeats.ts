/** Milliseconds between two heartbeats of a worker, and between two checks. */
export const HEARTBEAT_INTERVAL_MS = 1_000
/** Heartbeats in a row: 15 s, longer than a healthy worker blocks its event loop. */
const MOST_MISSED = 15

/**
 * Finds workers that have stopped responding. Missed heartbeats are counted by checks, not measured by a clock: while
 * the machine sleeps or the container is paused, there are no checks either, so no worker is blamed afterwards.
 */
export class Heartbeats<Worker> {
  readonly #missed = new Map<Worker, number>()

  /** Expects heartbeats of a worker from now on. */
  expect (worker: Worker): void {
    this.#missed.set(worker, 0)
  }

  receive (worker: Worker): void {
    if (this.#missed.has(worker)) this.#missed.set(worker, 0)
  }

  /** Expects no more heartbeats of a worker. */
  forget (worker: Worker): void {
    this.#missed.delete(worker)
  }

  /**
   * Must be called every HEARTBEAT_INTERVAL_MS.
   * @returns the workers that have missed more than MOST_MISSED heartbeats, each once
   */
  check (): Worker[] {
    for (const [worker, missed] of this.#missed) this.#missed.set(worker, missed + 1)
    return [...this.#missed].filter(([, missed]) => missed === MOST_MISSED + 1).map(([worker]) => worker)
  }
}
