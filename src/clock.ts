/** Node's timers as an interface, so that tests can control time. All times are milliseconds. */
export interface Clock {
  /** As `performance.now()`. */
  now (): number
  /** As `setTimeout`; a delay outside the range that Node accepts is limited to it. */
  setTimeout (task: () => void, delay: number): { unref (): unknown }
  clearTimeout (timer: object): void
  /** Calls the task at the end of this turn of the event loop. */
  setImmediate (task: () => void): object
}

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (task, delay) => setTimeout(task, Math.min(Math.max(delay, 1), 2 ** 31 - 1)),
  clearTimeout: timer => clearTimeout(timer as NodeJS.Timeout),
  setImmediate
}
