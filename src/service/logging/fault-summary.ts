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

/** Logs the first fault of a kind immediately, and each second how many followed, with their request ids. */
export function faultSummary (clock: Clock = systemClock) {
  const kinds = new Map<string, Repeated & { logRepeated: (repeated: Repeated) => void }>()
  let timer: Timer | undefined

  /**
   * @param kind what faults of the same kind have in common
   * @param id returns the request's id
   */
  function report (kind: string, id: () => string, log: () => void, logRepeated: (repeated: Repeated) => void): void {
    const key = kinds.has(kind) || kinds.size < MOST_KINDS ? kind : 'others'
    const known = kinds.get(key)
    if (known !== undefined) {
      known.count++
      if (known.ids.length < MOST_IDS) known.ids.push(id())
      return
    }
    kinds.set(key, { count: 0, ids: [], logRepeated })
    if (timer === undefined) arm()
    log()
  }

  /** Logs what has repeated until now. */
  function flush (): void {
    for (const [kind, { count, ids, logRepeated }] of kinds) {
      // After a second without faults of a kind, the next one counts as a first again.
      if (count === 0) kinds.delete(kind)
      else {
        kinds.set(kind, { count: 0, ids: [], logRepeated })
        logRepeated({ count, ids })
      }
    }
  }

  function arm (): void {
    timer = clock.setTimeout(() => {
      timer = undefined
      flush()
      if (kinds.size > 0) arm()
    }, WINDOW_MS)
    timer.unref()
  }

  return { report, flush }
}
