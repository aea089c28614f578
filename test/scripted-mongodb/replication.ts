import type { Memory } from './memory.js'

/** How waiting for the majority ended. */
export type Reached = 'majority' | 'timed out' | 'stepped down'

/** The way from the primary to its secondaries: immediate, unless paused, and then a majority write waits for it. */
export class Replication {
  readonly #memory: Memory
  readonly #waiting = new Set<(reached: Reached) => void>()
  #paused = false

  constructor (memory: Memory) {
    this.#memory = memory
  }

  /** The secondaries are told of what was written. */
  catchUp (): void {
    if (!this.#paused) this.#memory.commit()
  }

  pause (): void {
    this.#paused = true
  }

  resume (): void {
    this.#paused = false
    this.catchUp()
    this.#end('majority')
  }

  /** Takes back what is not majority-committed; returns how many documents that were. */
  rollBack (): number {
    this.interrupt() // else a write that waits would be acknowledged when replication resumes
    return this.#memory.rollBack()
  }

  /** The primary is no more: whoever waits for it learns that its write is open. */
  interrupt (): void {
    this.#end('stepped down')
  }

  /** Waits until all that is written is majority-committed; at most `timeout` milliseconds, or for ever. */
  async majority (timeout: number): Promise<Reached> {
    if (!this.#paused) return 'majority'
    return await new Promise((resolve) => {
      const timer = timeout > 0 ? setTimeout(end, timeout, 'timed out') : undefined
      const waiting = this.#waiting
      waiting.add(end)
      function end (reached: Reached) {
        clearTimeout(timer)
        waiting.delete(end)
        resolve(reached)
      }
    })
  }

  #end (reached: Reached): void {
    for (const end of this.#waiting) end(reached)
  }
}
