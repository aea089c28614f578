import { batches, type BatchMessage } from './batch-channel.js'
import { Pace } from './pace.js'
import { PlantNotStored, PlantPerhapsStored, type CreateOutcome, type NewPlant } from './plant-store.js'

/** What a batch's write tells of one plant; a failure is an instance, so that its reason is kept. */
export type WriteResult = CreateOutcome | PlantNotStored | PlantPerhapsStored

/** Writes many plants at once, durably. */
export interface BatchWriter {
  /** How many batches may be under way at once. */
  readonly maxInFlight: number
  /**
   * Resolves with a result for each plant, in the plants' order; never rejects.
   * @param deadline on the clock of `performance.now()`: no plant's outcome is of use after it
   */
  write (plants: readonly NewPlant[], deadline: number): Promise<readonly WriteResult[]>
}

interface WaitingCreate {
  readonly plant: NewPlant
  readonly deadline: number
  readonly resolve: (outcome: CreateOutcome) => void
  readonly reject: (reason: Error) => void
  /** Why an earlier try failed. */
  failure: PlantNotStored | PlantPerhapsStored | undefined
}

// A MongoDB command holds 16 MiB and 100,000 documents. Far below both a plant is already as cheap as it gets. A character
// takes 3 bytes at most (of a surrogate pair each 2).
const BATCH_CHARACTERS = 4_000_000
// A failed try is repeated after 25 ms, 50, 100, … 1,000, each between half and the whole of that, so that many
// processes do not come back in step.
const FIRST_BACKOFF = 25
const LONGEST_BACKOFF = 1_000
// The answer to a create that cannot be sent in time has to be out before its deadline.
const ANSWER_TIME = 50

/**
 * Lets the creates that wait at the same time share one write, each with its own outcome.
 *
 * A create that fails is sent again until its deadline: that is safe, as the same plant again is `same`. Then it is
 * `PlantNotStored` only where every try of it surely stored nothing.
 *
 * A create goes out at the end of the event loop's turn, with all others that the turn brought. Where the turns go on to
 * bring more, or batches are under way, it waits for as many as `Pace` finds worth a batch: never on a timer, so that an
 * idle store adds no delay.
 */
export class SharedWrites {
  readonly #writer: BatchWriter
  readonly #pace = new Pace()
  #waiting: WaitingCreate[] = []
  #inFlight = 0
  #plantsInFlight = 0
  #turn: NodeJS.Immediate | undefined
  #pause: NodeJS.Timeout | undefined
  #backoff = FIRST_BACKOFF
  #gathered = 0
  #closing = false
  #idle: (() => void)[] = []

  constructor (writer: BatchWriter) {
    this.#writer = writer
  }

  create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
    if (this.#closing) return Promise.reject(new PlantNotStored('the store is closed'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ plant, deadline, resolve, reject, failure: undefined })
      if (this.#turn === undefined && this.#pause === undefined) this.#turn = setImmediate(this.#send)
    })
  }

  /**
   * Writes what waits, once, and no longer repeats what fails. Resolves when every create has its outcome; those that
   * come later are not stored.
   */
  async close (): Promise<void> {
    this.#closing = true
    if (this.#pause !== undefined) {
      clearTimeout(this.#pause)
      this.#pause = undefined
      this.#giveUpWhatCannotWait(Infinity)
    }
    this.#send()
    if (this.#inFlight > 0 || this.#waiting.length > 0) await new Promise<void>(resolve => { this.#idle.push(resolve) })
  }

  readonly #send = (): void => {
    this.#turn = undefined
    if (this.#pause !== undefined) return
    const count = this.#waiting.length
    if (this.#inFlight === 0 && !this.#closing && count < this.#pace.enough && count > this.#gathered) {
      // Nothing is under way, but the last turn brought some: another turn.
      this.#gathered = count
      this.#turn = setImmediate(this.#send)
      return
    }
    this.#gathered = 0
    while (this.#waiting.length > 0 && this.#inFlight < this.#writer.maxInFlight &&
      (this.#inFlight === 0 || this.#waiting.length >= this.#pace.enough)) {
      const batch = this.#takeBatch()
      if (batch.length > 0) this.#write(batch)
    }
    if (this.#inFlight === 0 && this.#waiting.length === 0) {
      for (const resolve of this.#idle.splice(0)) resolve()
    }
  }

  #takeBatch (): WaitingCreate[] {
    const now = performance.now()
    const batch: WaitingCreate[] = []
    let characters = 0
    let taken = 0
    for (; taken < this.#waiting.length && batch.length < this.#pace.limit; taken++) {
      const create = this.#waiting[taken] as WaitingCreate
      characters += create.plant.name.length + (create.plant.tag?.length ?? 0)
      if (characters > BATCH_CHARACTERS && batch.length > 0) break
      if (create.deadline > now) batch.push(create)
      else giveUp(create)
    }
    this.#waiting = this.#waiting.slice(taken)
    return batch
  }

  async #write (batch: readonly WaitingCreate[]): Promise<void> {
    const started = performance.now()
    this.#inFlight++
    this.#plantsInFlight += batch.length
    this.#pace.sent(this.#plantsInFlight + this.#waiting.length)
    if (batches.hasSubscribers) tell({ plants: batch.length, milliseconds: undefined, again: 0 })
    const results = await this.#writer.write(batch.map(create => create.plant), latestDeadline(batch))
    this.#pace.returned(batch.length, performance.now() - started)
    this.#inFlight--
    this.#plantsInFlight -= batch.length

    const again: WaitingCreate[] = []
    for (let i = 0; i < batch.length; i++) {
      const create = batch[i] as WaitingCreate
      const result = results[i]
      if (typeof result === 'string') {
        create.resolve(result)
      } else {
        // Once a try has left it open, no later one that stores nothing can close it.
        if (!(create.failure instanceof PlantPerhapsStored)) create.failure = result as PlantNotStored | PlantPerhapsStored
        if (this.#closing || (result instanceof PlantNotStored && result.permanent)) giveUp(create)
        else again.push(create)
      }
    }
    if (batches.hasSubscribers) tell({ plants: batch.length, milliseconds: performance.now() - started, again: again.length })
    if (again.length > 0) {
      // Behind those that have not been tried: what fails each time is not to hold up the others.
      this.#waiting = this.#waiting.concat(again)
      this.#waitBeforeTheNext()
    } else {
      this.#backoff = FIRST_BACKOFF
    }
    this.#send()
  }

  #waitBeforeTheNext (): void {
    if (this.#pause !== undefined) return
    const delay = this.#backoff * (0.5 + Math.random() / 2)
    this.#backoff = Math.min(this.#backoff * 2, LONGEST_BACKOFF)
    this.#pause = setTimeout(() => {
      this.#pause = undefined
      this.#send()
    }, delay)
    this.#giveUpWhatCannotWait(performance.now() + delay + ANSWER_TIME)
  }

  #giveUpWhatCannotWait (until: number): void {
    this.#waiting = this.#waiting.filter(create => {
      if (create.deadline > until) return true
      giveUp(create)
      return false
    })
  }
}

function latestDeadline (batch: readonly WaitingCreate[]): number {
  let latest = -Infinity
  for (const { deadline } of batch) if (deadline > latest) latest = deadline
  return latest
}

function giveUp (create: WaitingCreate): void {
  create.reject(create.failure ?? new PlantNotStored('the store was too busy to take it in time'))
}

function tell (message: BatchMessage): void {
  batches.publish(message)
}
