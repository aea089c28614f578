/** Milliseconds between two heartbeats of a worker, and between two checks. */
export const HEARTBEAT_INTERVAL_MS = 1_000
/** Longer than a worker is ever busy. */
const LONGEST_SILENCE = 15

/**
 * Finds workers that have stopped responding. Silence is counted in checks, not by a clock: while the machine sleeps or
 * the container is paused, this process does not check either, so the workers are not at fault afterwards.
 */
export class Heartbeats<Worker> {
  readonly #silence = new Map<Worker, number>()

  /** Expects heartbeats of a worker from now on. */
  expect (worker: Worker): void {
    this.#silence.set(worker, 0)
  }

  receive (worker: Worker): void {
    if (this.#silence.has(worker)) this.#silence.set(worker, 0)
  }

  /** Expects no more heartbeats of a worker. */
  forget (worker: Worker): void {
    this.#silence.delete(worker)
  }

  /**
   * Must be called every HEARTBEAT_INTERVAL_MS.
   * @returns the workers that sent no heartbeat for LONGEST_SILENCE checks, each once
   */
  check (): Worker[] {
    for (const [worker, checks] of this.#silence) this.#silence.set(worker, checks + 1)
    return [...this.#silence].filter(([, checks]) => checks === LONGEST_SILENCE + 1).map(([worker]) => worker)
  }
}
