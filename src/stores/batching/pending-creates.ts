import type { NewPlant } from '../../plant.js'
import type { CreateOutcome } from '../store.js'
import type { CreateError } from './store-writer.js'

/** Of 512 at once, the main thread answers some while the others are written: 4 % less time than in one batch. */
export const LARGEST_BATCH = 256
/** A MongoDB command holds 16 MiB, and a character takes 3 bytes at most. */
const BATCH_CHARACTERS = 4_000_000
/** Arrivals that were taken are removed from the array when there are so many. */
const LONGEST_GAP = 1_024

/** A create request without an outcome. */
export interface PendingCreate {
  readonly plant: NewPlant
  readonly deadline: number
  readonly resolve: (outcome: CreateOutcome) => void
  readonly reject: (reason: Error) => void
  failure: Failure | undefined
}

/** The last error of a create request, the number of failed attempts, and when it may be sent again. */
export interface Failure {
  readonly error: CreateError
  readonly attempts: number
  readonly dueAt: number
  /** Whether it has failed in a batch of its own: it may be the one that fails every batch that it is in. */
  readonly hasFailedAlone: boolean
}

/** The create requests that wait to be sent. */
export class PendingCreates {
  /** In the order of their arrival, none of them sent yet. Those before the head were taken. */
  #arrivals: PendingCreate[] = []
  #head = 0
  /** From batches that came back. */
  #retries: PendingCreate[] = []

  isEmpty (): boolean {
    return this.#retries.length === 0 && this.#firstArrival() === undefined
  }

  add (create: PendingCreate): void {
    if (create.failure === undefined) this.#arrivals.push(create)
    else this.#retries.push(create)
  }

  /**
   * Takes the retries that are due, then arrivals, up to the first that does not fit. While there are arrivals, retries
   * get half of the places: plants that fail again and again do not hold up others. One that has failed alone is sent
   * alone.
   */
  takeBatch (limit: number, now: number): PendingCreate[] {
    const alone = limit === 1 ? undefined : this.#takeRetry(create => isDue(create, now) && hasFailedAlone(create))
    if (alone !== undefined) return [alone]
    const batch = new Batch(limit)
    const hasArrivals = this.#firstArrival() !== undefined
    if (this.#retries.length > 0) {
      this.#retries = this.#retries.filter(create => {
        const mustWait = !isDue(create, now) || hasFailedAlone(create) || (hasArrivals && batch.isHalfFull())
        return mustWait || !batch.add(create)
      })
    }
    this.#takeArrivals(create => batch.add(create))
    if (batch.creates.length > 0) return batch.creates
    const last = this.#takeRetry(create => isDue(create, now))
    return last === undefined ? [] : [last]
  }

  /** Takes the retries with a deadline that is not after a time, and the arrivals up to the first with a later one. */
  takeUntil (time: number): PendingCreate[] {
    const isOver = ({ deadline }: PendingCreate): boolean => deadline <= time
    const taken = this.#retries.filter(isOver)
    if (taken.length > 0) this.#retries = this.#retries.filter(create => !isOver(create))
    this.#takeArrivals(create => {
      if (!isOver(create)) return false
      taken.push(create)
      return true
    })
    return taken
  }

  takeRetries (): PendingCreate[] {
    return this.#retries.splice(0)
  }

  #firstArrival (): PendingCreate | undefined {
    return this.#arrivals[this.#head]
  }

  /** Removes the first arrivals, as long as they are taken. */
  #takeArrivals (take: (create: PendingCreate) => boolean): void {
    let first = this.#firstArrival()
    while (first !== undefined && take(first)) {
      this.#head++
      first = this.#firstArrival()
    }
    if (first === undefined) {
      this.#arrivals = []
      this.#head = 0
    } else if (this.#head >= LONGEST_GAP && this.#head * 2 >= this.#arrivals.length) {
      this.#arrivals = this.#arrivals.slice(this.#head)
      this.#head = 0
    }
  }

  #takeRetry (matches: (create: PendingCreate) => boolean): PendingCreate | undefined {
    const index = this.#retries.findIndex(matches)
    return index < 0 ? undefined : this.#retries.splice(index, 1)[0]
  }
}

function isDue ({ failure }: PendingCreate, now: number): boolean {
  return failure === undefined || failure.dueAt <= now
}

function hasFailedAlone ({ failure }: PendingCreate): boolean {
  return failure?.hasFailedAlone === true
}

/** The create requests that fit into one write. */
class Batch {
  readonly creates: PendingCreate[] = []
  #characters = 0

  constructor (private readonly limit: number) {}

  isHalfFull (): boolean {
    return this.creates.length >= this.limit / 2 || this.#characters >= BATCH_CHARACTERS / 2
  }

  /** @returns whether it fits; the first always does */
  add (create: PendingCreate): boolean {
    const { name, tag } = create.plant
    const characters = this.#characters + name.length + (tag?.length ?? 0)
    const isFull = this.creates.length >= this.limit || characters > BATCH_CHARACTERS
    if (isFull && this.creates.length > 0) return false
    this.#characters = characters
    this.creates.push(create)
    return true
  }
}
