import { systemClock, type Clock, type Timer } from '../../clock.js'

const WINDOW_MS = 1_000
/** The number of kinds beyond which further kinds are counted as one, as messages may differ each time. */
const MOST_KINDS = 20

/** Logs the first fault of a kind at once, and the number of those that follow each second. */
export class FaultSummary {
  readonly #clock: Clock
  readonly #kinds = new Map<string, { count: number, logCount: (count: number) => void }>()
  #timer: Timer | undefined

  constructor (clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** @param kind what faults of the same kind have in common */
  report (kind: string, log: () => void, logCount: (count: number) => void): void {
    const key = this.#kinds.has(kind) || this.#kinds.size < MOST_KINDS ? kind : 'others'
    const known = this.#kinds.get(key)
    if (known !== undefined) {
      known.count++
      return
    }
    this.#kinds.set(key, { count: 0, logCount })
    this.#arm()
    log()
  }

  /** Logs the counts now. */
  flush (): void {
    for (const [kind, fault] of this.#kinds) {
      const { count, logCount } = fault
      // After a second without faults of a kind, the next one counts as a first again.
      if (count === 0) this.#kinds.delete(kind)
      else {
        fault.count = 0
        logCount(count)
      }
    }
  }

  #arm (): void {
    if (this.#timer !== undefined) return
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = undefined
      this.flush()
      if (this.#kinds.size > 0) this.#arm()
    }, WINDOW_MS)
    this.#timer.unref()
  }
}
