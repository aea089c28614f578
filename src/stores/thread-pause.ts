const STOP = 0
const WORKING = 1

/** Milliseconds: longer than any wait for a lock, and than nearly all commits. */
const PATIENCE = 2_000

/**
 * Lets a thread be ended only between two pieces of its work. `@photostructure/sqlite` aborts the whole process where its
 * thread is ended, also by `process.exit`, while it is in the midst of a call.
 */
export class ThreadPause {
  readonly #state: Int32Array

  /** @param memory shared with the other side; by default new */
  constructor (readonly memory = new SharedArrayBuffer(8)) {
    this.#state = new Int32Array(memory)
  }

  /** In the thread: works, or does nothing where the thread is about to be ended. */
  work (task: () => void): void {
    if (!this.begin()) return
    try {
      task()
    } finally {
      this.end()
    }
  }

  begin (): boolean {
    Atomics.store(this.#state, WORKING, 1)
    if (Atomics.load(this.#state, STOP) === 0) return true
    this.end()
    return false
  }

  end (): void {
    Atomics.store(this.#state, WORKING, 0)
    Atomics.notify(this.#state, WORKING)
  }

  /** Outside: blocks until the work under way is done; the thread begins no other. */
  stop (): void {
    Atomics.store(this.#state, STOP, 1)
    Atomics.wait(this.#state, WORKING, 1, PATIENCE)
  }
}
