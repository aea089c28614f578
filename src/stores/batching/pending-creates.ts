import type { CreateOutcome, NewPlant } from '../store.js'
import type { CreateError } from './store-writer.js'

/** Of 512 at once, the main thread answers some while the others are written: 4 % less time than in one batch. */
const LARGEST_BATCH = 256
/** A MongoDB command holds 16 MiB, and a character takes 3 bytes at most. */
const BATCH_CHARACTERS = 4_000_000

/** A create request without an outcome. */
export interface PendingCreate {
  readonly plant: NewPlant
  readonly deadline: number
  readonly resolve: (outcome: CreateOutcome) => void
  readonly reject: (reason: Error) => void
  /** The error of the request so far, the number of failed attempts, and when it may be sent again. */
  failure: { readonly error: CreateError, readonly attempts: number, readonly dueAt: number } | undefined
}

/**
 * The create requests that wait to be sent. The cost of each does not depend on how many there are, unless their
 * deadlines pass in another order than that of their arrival.
 */
export class PendingCreates {
  /** In the order of arrival; the first are reversed, as they are taken often. */
  #first: PendingCreate[] = []
  #last: PendingCreate[] = []
  /** Whether the arrivals are in the order of their deadlines too, as a rule: then only the first is looked at. */
  #areInOrder = true
  /** If not: no arrival has an earlier deadline. */
  #earliestDeadline = Infinity
  /** From batches that came back. All are looked at. */
  #retries: PendingCreate[] = []

  isEmpty (): boolean {
    return this.#retries.length === 0 && !this.#hasArrivals()
  }

  add (create: PendingCreate): void {
    if (create.failure !== undefined) {
      this.#retries.push(create)
      return
    }
    const newest = this.#last.at(-1) ?? this.#first[0]
    if (newest === undefined) {
      this.#areInOrder = true
      this.#earliestDeadline = create.deadline
    } else if (create.deadline < newest.deadline) {
      this.#areInOrder = false
      this.#earliestDeadline = Math.min(this.#earliestDeadline, create.deadline)
    }
    this.#last.push(create)
  }

  /**
   * Takes the retries that are due, then arrivals, up to the first that does not fit. While there are arrivals, retries
   * get half of the places: plants that fail again and again do not hold up others.
   */
  takeBatch (now: number): PendingCreate[] {
    const batch: PendingCreate[] = []
    let characters = 0
    function addIfItFits (create: PendingCreate): boolean {
      characters += create.plant.name.length + (create.plant.tag?.length ?? 0)
      const isFull = batch.length === LARGEST_BATCH || characters > BATCH_CHARACTERS
      if (isFull && batch.length > 0) return false
      batch.push(create)
      return true
    }
    const hasArrivals = this.#hasArrivals()
    const isHalfFull = () => batch.length >= LARGEST_BATCH / 2 || characters >= BATCH_CHARACTERS / 2
    const later: PendingCreate[] = []
    for (const create of this.#retries) {
      const isDue = (create.failure?.dueAt ?? now) <= now
      const mustWait = !isDue || (hasArrivals && isHalfFull())
      if (mustWait || !addIfItFits(create)) later.push(create)
    }
    this.#retries = later
    this.#takeArrivals(addIfItFits)
    return batch
  }

  /** Takes those with a deadline that is not after a time. */
  takeUntil (time: number): PendingCreate[] {
    const taken = this.#retries.filter(({ deadline }) => deadline <= time)
    if (taken.length > 0) this.#retries = this.#retries.filter(({ deadline }) => deadline > time)
    if (!this.#areInOrder) return taken.concat(this.#takeOutOfOrder(time))
    this.#takeArrivals(create => {
      if (create.deadline > time) return false
      taken.push(create)
      return true
    })
    return taken
  }

  #takeOutOfOrder (time: number): PendingCreate[] {
    if (this.#earliestDeadline > time) return []
    const arrivals = [...this.#first.toReversed(), ...this.#last]
    this.#first = []
    this.#last = arrivals.filter(({ deadline }) => deadline > time)
    this.#earliestDeadline = this.#last.reduce((earliest, { deadline }) => Math.min(earliest, deadline), Infinity)
    return arrivals.filter(({ deadline }) => deadline <= time)
  }

  #hasArrivals (): boolean {
    return this.#first.length > 0 || this.#last.length > 0
  }

  takeRetries (): PendingCreate[] {
    return this.#retries.splice(0)
  }

  /** Removes the first arrivals, as long as they are taken. */
  #takeArrivals (take: (create: PendingCreate) => boolean): void {
    while (this.#hasArrivals()) {
      if (this.#first.length === 0) {
        this.#first = this.#last.reverse()
        this.#last = []
      }
      if (!take(this.#first.at(-1) as PendingCreate)) return
      this.#first.pop()
    }
  }
}
