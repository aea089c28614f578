import { systemClock, type Clock, type Timer } from '../../clock.js'

const WINDOW_MS = 1_000
/** The number of kinds beyond which further kinds are counted as one, as messages may differ each time. */
const MOST_KINDS = 20
/** The number of request ids in one line. */
const MOST_IDS = 100

/** Faults of one kind since its last line. */
interface Repeated {
  count: number
  /** The ids of their requests: the first ones, if there are many. */
  ids: string[]
}

/** Logs the first fault of a kind at once, and each second the number and the request ids of those that followed. */
export class FaultSummary {
  readonly #clock: Clock
  readonly #kinds = new Map<string, Repeated & { logRepeated: (repeated: Repeated) => void }>()
  #timer: Timer | undefined

  constructor (clock: Clock = systemClock) {
    this.#clock = clock
  }

  /**
   * @param kind what faults of the same kind have in common
   * @param id returns the request's id
   */
  report (kind: string, id: () => string, log: () => void, logRepeated: (repeated: Repeated) => void): void {
    const key = this.#kinds.has(kind) || this.#kinds.size < MOST_KINDS ? kind : 'others'
    const known = this.#kinds.get(key)
    if (known !== undefined) {
      known.count++
      if (known.ids.length < MOST_IDS) known.ids.push(id())
      return
    }
    this.#kinds.set(key, { count: 0, ids: [], logRepeated })
    this.#arm()
    log()
  }

  /** Logs what has repeated until now. */
  flush (): void {
    for (const [kind, { count, ids, logRepeated }] of this.#kinds) {
      // After a second without faults of a kind, the next one counts as a first again.
      if (count === 0) this.#kinds.delete(kind)
      else {
        this.#kinds.set(kind, { count: 0, ids: [], logRepeated })
        logRepeated({ count, ids })
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
