import type { Memory } from './memory.js'

/** Replication from the primary to the secondaries: immediate unless paused, when majority writes wait for it. */
export class Replication {
  readonly #memory: Memory
  readonly #waiting = new Set<(replicated: boolean) => void>()
  #paused = false

  constructor (memory: Memory) {
    this.#memory = memory
  }

  /** Replicates new writes to the secondaries. */
  catchUp (): void {
    if (!this.#paused) this.#memory.commit()
  }

  pause (): void {
    this.#paused = true
  }

  resume (): void {
    this.#paused = false
    this.catchUp()
    this.#settle(true)
  }

  /** Rolls back all writes that are not majority-committed. */
  rollBack (): void {
    this.interrupt() // otherwise a waiting write would be acknowledged when replication resumes
    this.#memory.rollBack()
  }

  /** The primary stepped down: the outcome of every waiting majority write is unknown. */
  interrupt (): void {
    this.#settle(false)
  }

  /** Resolves with true when all writes are majority-committed, or with false if the primary steps down first. */
  async majority (): Promise<boolean> {
    if (!this.#paused) return true
    return await new Promise(resolve => { this.#waiting.add(resolve) })
  }

  #settle (replicated: boolean): void {
    for (const resolve of this.#waiting) resolve(replicated)
    this.#waiting.clear()
  }
}
