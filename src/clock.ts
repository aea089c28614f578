/** A started timer. */
export interface Timer {
  /** Does not keep the process alive any more. */
  unref (): void
  clear (): void
}

/** Node's timers as an interface, so that tests can control time. All times are milliseconds. */
export interface Clock {
  /** As `performance.now()`. */
  now (): number
  /** As `setTimeout`; a delay outside the range that Node accepts is limited to it. */
  setTimeout (task: () => void, delay: number): Timer
  /** Calls the task at the end of this turn of the event loop. */
  setImmediate (task: () => void): object
}

/** Milliseconds on a clock that all threads and processes of the machine share, unlike `performance.now()`. */
export function monotonicMs (): number {
  return Number(process.hrtime.bigint()) / 1e6
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Not an object of closures: each create request has one. */
class SystemTimer implements Timer {
  readonly #timeout: NodeJS.Timeout

  constructor (task: () => void, delay: number) {
    this.#timeout = setTimeout(task, Math.min(Math.max(delay, 1), LONGEST_TIMER_MS))
  }

  unref (): void {
    this.#timeout.unref()
  }

  clear (): void {
    clearTimeout(this.#timeout)
  }
}

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (task, delay) => new SystemTimer(task, delay),
  setImmediate
}
