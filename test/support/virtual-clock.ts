import type { Clock } from '../../src/clock.js'

interface Task {
  unref: () => void
  at: number
  run: () => void
  isRef: boolean
}

/** A clock that is advanced only by the test. */
export class VirtualClock implements Clock {
  #now = 1_000
  /** In the order in which they are due; those due at the same time in the order in which they were added. */
  #tasks: Task[] = []
  #immediates: (() => void)[] = []

  now (): number {
    return this.#now
  }

  setTimeout (run: () => void, delay: number): Task {
    // As in Node, a delay has whole milliseconds, at least one.
    const unref = (): void => { task.isRef = false }
    const task: Task = { unref, at: this.#now + Math.max(Math.trunc(delay), 1), run, isRef: true }
    this.#tasks.push(task)
    this.#tasks.sort((one, other) => one.at - other.at)
    return task
  }

  clearTimeout (timer: object): void {
    this.#tasks = this.#tasks.filter(other => other !== timer)
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
    const immediates = this.#immediates.splice(0)
    for (const run of immediates) run()
    if (immediates.length > 0) return
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
    await settle()
    for (let next = this.next; next !== undefined && next <= end; next = this.next) {
      this.step()
      await settle()
      if (stop()) return
    }
    this.#now = end
  }
}

/** Lets promises settle, and code that awaits them run. */
const settle = () => new Promise(resolve => setImmediate(resolve))
