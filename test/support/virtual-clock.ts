import type { Clock, Timer } from '../../src/clock.js'

interface Task {
  at: number
  /** Tasks for the same time come in the order in which they were set. */
  place: number
  run: () => void
  isRef: boolean
}

/** A clock that stands still until the test lets time pass. */
export class VirtualClock implements Clock {
  #now = 1_000
  #tasks: Task[] = []
  #immediates: (() => void)[] = []
  #place = 0

  now (): number {
    return this.#now
  }

  setTimeout (run: () => void, delay: number): Timer {
    // As Node: whole milliseconds, at least one.
    const task = { at: this.#now + Math.max(Math.trunc(delay), 1), place: this.#place++, run, isRef: true }
    this.#tasks.push(task)
    return {
      ref: () => { task.isRef = true },
      unref: () => { task.isRef = false },
      clear: () => { this.#tasks = this.#tasks.filter(other => other !== task) }
    }
  }

  setImmediate (task: () => void): object {
    this.#immediates.push(task)
    return task
  }

  /** How many timers would keep a process alive. */
  get timers (): number {
    return this.#tasks.filter(({ isRef }) => isRef).length
  }

  /** When the next task is due; undefined if there is none. */
  get next (): number | undefined {
    if (this.#immediates.length > 0) return this.#now
    return this.#earliest()?.at
  }

  /** Runs one turn of the event loop: the immediates, or else the next timer, at its time. Promises settle after it. */
  step (): void {
    const immediates = this.#immediates.splice(0)
    for (const run of immediates) run()
    if (immediates.length > 0) return
    const task = this.#earliest()
    if (task === undefined) return
    this.#tasks = this.#tasks.filter(other => other !== task)
    this.#now = Math.max(this.#now, task.at)
    task.run()
  }

  /** Lets turns pass until nothing is left to be done at this time. */
  async turns (): Promise<void> {
    await this.pass(0)
  }

  /** Lets so many milliseconds pass, with all that is due in them, or until `stop` says so after a turn. */
  async pass (milliseconds: number, stop = () => false): Promise<void> {
    const end = this.#now + milliseconds
    await settle()
    for (let next = this.next; next !== undefined && next <= end; next = this.next) {
      this.step()
      await settle()
      if (stop()) return
    }
    this.#now = end
  }

  #earliest (): Task | undefined {
    let earliest: Task | undefined
    for (const task of this.#tasks) {
      if (earliest === undefined || task.at < earliest.at || (task.at === earliest.at && task.place < earliest.place)) {
        earliest = task
      }
    }
    return earliest
  }
}

/** Promises that can be settled are, with all that waits for them. */
async function settle (): Promise<void> {
  await new Promise(resolve => setImmediate(resolve))
}
