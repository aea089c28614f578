const STOP = 0
const WORKING = 1

/** Milliseconds: longer than any wait for a lock, and than nearly all commits. */
const STOP_TIMEOUT_MS = 2_000

/**
 * Ensures that a thread is terminated only between two tasks: `@photostructure/sqlite` aborts the whole process if its
 * thread is terminated during a call, also by `process.exit`.
 */
export class TerminationGuard {
  readonly #state: Int32Array

  /** @param memory that of the other thread's guard; new memory by default */
  constructor (readonly memory = new SharedArrayBuffer(8)) {
    this.#state = new Int32Array(memory)
  }

  /** Called by the guarded thread: runs a task, unless the thread is about to be terminated. */
  work (task: () => void): void {
    Atomics.store(this.#state, WORKING, 1)
    try {
      if (Atomics.load(this.#state, STOP) === 0) task()
    } finally {
      Atomics.store(this.#state, WORKING, 0)
      Atomics.notify(this.#state, WORKING)
    }
  }

  /** Called by another thread: blocks until the current task is done; no other task starts. */
  stop (): void {
    Atomics.store(this.#state, STOP, 1)
    Atomics.wait(this.#state, WORKING, 1, STOP_TIMEOUT_MS)
  }
}
