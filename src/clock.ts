/** A started timer, which keeps the process alive unless it is unreferenced. */
export interface Timer {
  unref (): unknown
}

/** Node's timers as an interface, so that tests can control time. All times are milliseconds. */
export interface Clock {
  /** As `performance.now()`. */
  now (): number
  /** As `setTimeout`; a delay outside the range that Node accepts is limited to it. */
  setTimeout (task: () => void, delay: number): Timer
  clearTimeout (timer: Timer): void
  /** Calls the task at the end of this turn of the event loop. */
  setImmediate (task: () => void): object
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (task, delay) => setTimeout(task, Math.min(Math.max(delay, 1), LONGEST_TIMER_MS)),
  clearTimeout: timer => clearTimeout(timer as NodeJS.Timeout),
  setImmediate
}
