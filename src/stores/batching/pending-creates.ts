import type { CreateOutcome, NewPlant } from '../plant-store.js'
import type { CreateError } from './store-writer.js'

/** A create request without an outcome. */
export interface PendingCreate {
  readonly plant: NewPlant
  /** The length of name and tag. */
  readonly characters: number
  readonly deadline: number
  readonly resolve: (outcome: CreateOutcome) => void
  readonly reject: (reason: Error) => void
  /** How often the plant has failed by itself, while others of its batch did not. */
  failures: number
  earlierError: CreateError | undefined
}

/** Neighbours in the line. */
interface Section {
  creates: PendingCreate[]
  /** Not later than any deadline of these. */
  earliestDeadline: number
}

const SECTION_LENGTH = 256
/** Pauses end at multiples of this. */
const PAUSE_STEP_MS = 5

/**
 * The create requests that wait to be sent: a line, and those that pause. The cost of each does not depend on how many
 * there are, nor on the order of their deadlines. Therefore the line has sections: only those in which a deadline has
 * passed are searched, and no large array is copied when its first element is removed.
 */
export class PendingCreates {
  /** The first ones of the line, in reverse order, so that the first is removed from the end. */
  #front = newSection()
  #sections: Section[] = []
  /** By the end of their pause. */
  readonly #paused = new Map<number, PendingCreate[]>()

  get isEmpty (): boolean {
    return this.first === undefined && this.#paused.size === 0
  }

  /** The first in the line. */
  get first (): PendingCreate | undefined {
    if (this.#front.creates.length === 0) {
      this.#front = this.#sections.shift() ?? newSection()
      this.#front.creates.reverse()
    }
    return this.#front.creates.at(-1)
  }

  removeFirst (): void {
    this.#front.creates.pop()
  }

  addFirst (creates: readonly PendingCreate[]): void {
    for (const create of creates.toReversed()) add(create, this.#front)
  }

  addLast (create: PendingCreate): void {
    let last = this.#sections.at(-1)
    if (last === undefined || last.creates.length === SECTION_LENGTH) {
      last = newSection()
      this.#sections.push(last)
    }
    add(create, last)
  }

  /** Keeps a plant that has failed by itself out of the line for a time. */
  pause (create: PendingCreate, until: number): void {
    create.failures++
    const end = Math.ceil(until / PAUSE_STEP_MS) * PAUSE_STEP_MS
    const others = this.#paused.get(end)
    if (others === undefined) this.#paused.set(end, [create])
    else others.push(create)
  }

  /** Puts those whose pause has ended first in the line. */
  resume (now: number): void {
    for (const [end, creates] of this.#paused) {
      if (end > now) continue
      this.#paused.delete(end)
      this.addFirst(creates)
    }
  }

  /** Removes and returns those in the line whose deadline is not after a time. */
  takeUntil (time: number): PendingCreate[] {
    const due = [this.#front, ...this.#sections].filter(({ earliestDeadline }) => earliestDeadline <= time)
    if (due.length === 0) return []
    const taken = due.flatMap(section => takeFrom(section, time))
    this.#sections = this.#sections.filter(({ creates }) => creates.length > 0)
    return taken
  }

  takeAll (): PendingCreate[] {
    this.resume(Infinity)
    return this.takeUntil(Infinity)
  }
}

function newSection (): Section {
  return { creates: [], earliestDeadline: Infinity }
}

function add (create: PendingCreate, section: Section): void {
  section.creates.push(create)
  if (create.deadline < section.earliestDeadline) section.earliestDeadline = create.deadline
}

function takeFrom (section: Section, time: number): PendingCreate[] {
  const taken = section.creates.filter(({ deadline }) => deadline <= time)
  section.creates = section.creates.filter(({ deadline }) => deadline > time)
  section.earliestDeadline = section.creates.reduce((earliest, { deadline }) => Math.min(earliest, deadline), Infinity)
  return taken
}
