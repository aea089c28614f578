import type { Clock, Timer } from '../clock.js'

/** An entry of `Deadlines`. */
export interface Waiter {
  /** Milliseconds on the clock. */
  readonly deadline: number
  /** Called once the deadline has passed, unless the waiter has been removed. */
  expire (): void
  previous: Waiter | undefined
  next: Waiter | undefined
}

/**
 * The deadlines of waiters that all have the same timeout, so that deadlines are added in order: a linked list with one
 * timer for all, instead of a timer each that is nearly always cancelled.
 */
export class Deadlines {
  readonly #clock: Clock
  #first: Waiter | undefined
  #last: Waiter | undefined
  #timer: Timer | undefined

  constructor (clock: Clock) {
    this.#clock = clock
  }

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
    // Unlinked, since a removed waiter in the heap's old generation would otherwise keep all later ones alive until the
    // next full collection: a create request would take up to 50 % more processor time.
    waiter.previous = waiter.next = undefined
    // The timer is only unreferenced: it does not keep an idle process alive, and is not restarted for each request.
    if (this.#first === undefined) this.#timer?.unref()
  }

  #arm (waiter: Waiter): void {
    this.#timer = this.#clock.setTimeout(this.#expire, waiter.deadline - this.#clock.now() + 1)
  }

  readonly #expire = (): void => {
    this.#timer = undefined
    const now = this.#clock.now()
    while (this.#first !== undefined && this.#first.deadline <= now) {
      const waiter = this.#first
      this.remove(waiter)
      waiter.expire()
    }
    if (this.#first !== undefined && this.#timer === undefined) this.#arm(this.#first)
  }
}
