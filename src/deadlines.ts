/** Something that waits until a time. */
export interface Waiter {
  /** On the clock of `performance.now()`, in milliseconds. */
  readonly deadline: number
  /** Called once the deadline has passed, where the waiter has not been removed. */
  expire (): void
  previous: Waiter | undefined
  next: Waiter | undefined
}

/**
 * The deadlines of many waiters that all wait equally long, so that they come in the order of their deadlines: a linked
 * list and one timer for all, instead of a timer each that nearly always is cancelled.
 */
export class Deadlines {
  #first: Waiter | undefined
  #last: Waiter | undefined
  #timer: NodeJS.Timeout | undefined

  add (waiter: Waiter): void {
    waiter.previous = this.#last
    if (this.#last === undefined) {
      this.#first = waiter
      if (this.#timer === undefined) this.#arm(waiter)
      else this.#timer.ref()
    } else {
      this.#last.next = waiter
    }
    this.#last = waiter
  }

  remove (waiter: Waiter): void {
    const { previous, next } = waiter
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    // An idle service is not kept alive by the timer, nor does it take one for each create.
    if (this.#first === undefined) this.#timer?.unref()
  }

  #arm (waiter: Waiter): void {
    this.#timer = setTimeout(this.#expire, Math.max(waiter.deadline - performance.now(), 0) + 1)
  }

  readonly #expire = (): void => {
    this.#timer = undefined
    const now = performance.now()
    while (this.#first !== undefined && this.#first.deadline <= now) {
      const waiter = this.#first
      this.remove(waiter)
      waiter.expire()
    }
    if (this.#first !== undefined) this.#arm(this.#first)
  }
}
