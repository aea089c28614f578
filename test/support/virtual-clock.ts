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
  #immediates: (() => void)[] = []

  now (): number {
    return this.#now
  }

  setTimeout (run: () => void, delay: number): Task {
    // As in Node, a delay has whole milliseconds, at least one.
    const at = this.#now + Math.max(Math.trunc(delay), 1)
    const task: Task = { at, run, unref: () => { task.isRef = false }, isRef: true }
    let start = 0
    for (let end = this.#tasks.length; start < end;) {
      const middle = (start + end) >> 1
      if ((this.#tasks[middle] as Task).at > at) end = middle
      else start = middle + 1
    }
    this.#tasks.splice(start, 0, task)
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

  /** When the next task is due; undefined if there is none. */
  get next (): number | undefined {
    return this.#immediates.length > 0 ? this.#now : this.#tasks[0]?.at
  }

  /** Runs one turn of the event loop: the immediates or, if there are none, the next timer. Promises do not settle. */
  step (): void {
    if (this.#immediates.length > 0) {
      const immediates = this.#immediates
      this.#immediates = []
      for (const run of immediates) run()
      return
    }
    const task = this.#tasks.shift()
    if (task === undefined) return
    this.#now = Math.max(this.#now, task.at)
    task.run()
  }

  /** Runs turns until nothing more is due now. */
  async turns (): Promise<void> {
    await this.pass(0)
  }

  /** Advances the clock and runs all tasks that become due; ends early if `stop` returns true after a turn. */
  async pass (ms: number, stop = () => false): Promise<void> {
    const end = this.#now + ms
    await settled()
    for (let next = this.next; next !== undefined && next <= end; next = this.next) {
      this.step()
      await settled()
      if (stop()) return
    }
    this.#now = Math.max(this.#now, end)
  }
}

/** Resolves when promises have settled, and all code that awaited them has run: Node's next tick comes after that. */
const settled = () => new Promise(resolve => process.nextTick(resolve))
