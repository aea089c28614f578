import type { Clock } from '../../src/clock.js'

interface Task {
  readonly at: number
  readonly run: () => void
  unref: () => void
  isRef: boolean
}

/** A clock that is advanced only by the test. */
export class VirtualClock implements Clock {
  #now = 1_000
  /** In the order in which they are due; those due at the same time in the order in which they were added. */
  readonly #tasks: Task[] = []
  readonly #immediates: (() => void)[] = []

  now (): number {
    return this.#now
  }

  setTimeout (run: () => void, delay: number): Task {
    // As in Node, a delay has whole milliseconds, at least one.
    const at = this.#now + Math.max(Math.trunc(delay), 1)
    const task: Task = { at, run, unref: () => { task.isRef = false }, isRef: true }
    this.#tasks.splice(this.#tasks.findLastIndex(earlier => earlier.at <= at) + 1, 0, task)
    return task
  }

  clearTimeout (timer: object): void {
    const index = this.#tasks.indexOf(timer as Task)
    if (index >= 0) this.#tasks.splice(index, 1)
  }

  setImmediate (task: () => void): object {
    this.#immediates.push(task)
    return task
  }

  /** The number of timers that would keep a process alive. */
  get timers (): number {
    return this.#tasks.filter(({ isRef }) => isRef).length
  }

  /** Runs turns until nothing more is due now. */
  async turns (): Promise<void> {
    await this.pass(0)
  }

  /** Advances the clock and runs all tasks that become due; ends early if `stop` returns true after a turn. */
  async pass (ms: number, stop = () => false): Promise<void> {
    const end = this.#now + ms
    await settled()
    while (this.#turn(end)) {
      await settled()
      if (stop()) return
    }
    this.#now = Math.max(this.#now, end)
  }

  /** Runs one turn of the event loop: the immediates or, if there are none, the next timer that is due by a time. */
  #turn (end: number): boolean {
    if (this.#immediates.length > 0) {
      for (const run of this.#immediates.splice(0)) run()
      return true
    }
    const task = this.#tasks[0]
    if (task === undefined || task.at > end) return false
    this.#tasks.shift()
    this.#now = Math.max(this.#now, task.at)
    task.run()
    return true
  }
}

/** Resolves when promises have settled, and all code that awaited them has run: Node's next tick comes after that. */
const settled = () => new Promise(resolve => process.nextTick(resolve))
