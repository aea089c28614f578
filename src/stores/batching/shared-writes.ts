import type { Clock, Timer } from '../../clock.js'
import { channels, type BatchMessage } from '../../diagnostics.js'
import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant } from '../plant-store.js'
import { BatchSizer, LARGEST_BATCH } from './batch-sizer.js'
import type { BatchWriter, CreateFailure, WriteResult } from './batch-writer.js'
import { Expiry, RESPONSE_TIME_MS } from './expiry.js'
import { giveUp, type PendingCreate } from './pending-create.js'
import { Retries } from './retries.js'

// A MongoDB command holds 16 MiB, and a character takes 3 bytes at most (each half of a surrogate pair takes 2).
const BATCH_CHARACTERS = 4_000_000
const LEAST_TRY_MS = RESPONSE_TIME_MS + 50
/** The longest wait for batches in flight: one of them may hang, with a connection that was lost. */
const LONGEST_WAIT_MS = 100

interface Batch {
  readonly creates: readonly PendingCreate[]
  /** Whether it comes from `Retries`, not from the queue. */
  readonly isRetry: boolean
}

/**
 * Lets pending create requests share one write, each with its own outcome.
 *
 * A request is sent at the end of the event loop's turn, with all others of the turn. If further turns bring more, or
 * batches are in flight, it waits until there are as many as `BatchSizer` considers worth a batch, or for 0.1 s; never
 * if nothing is in flight: an idle store adds no delay.
 *
 * A request that fails is sent again until its deadline, as `Retries` decides; this is safe, since the same plant again
 * is `same`. It rejects with `PlantNotStored` only if no attempt can have stored the plant.
 */
export class SharedWrites {
  readonly #writer: BatchWriter
  readonly #clock: Clock
  readonly #sizer = new BatchSizer()
  readonly #retries: Retries
  readonly #expiry: Expiry
  #queue: PendingCreate[] = []
  #inFlight = 0
  #retriesInFlight = 0
  #plantsInFlight = 0
  #retryWentLast = false
  #turn: object | undefined
  /** When the queue last sent a batch. */
  #sentAt = -Infinity
  #waitTimer: Timer | undefined
  #gathered = 0
  #closing = false
  #idle: (() => void)[] = []

  /** @param random as `Math.random` */
  constructor (writer: BatchWriter, clock: Clock, random: () => number) {
    this.#writer = writer
    this.#clock = clock
    this.#retries = new Retries(clock, random, () => this.#send())
    this.#expiry = new Expiry(clock, waits => {
      this.#queue = this.#queue.filter(waits)
      this.#retries.filter(waits)
    })
  }

  create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
    if (this.#closing) return Promise.reject(new PlantNotStored('the store is closed'))
    return new Promise((resolve, reject) => {
      const create = { plant, deadline, resolve, reject, failure: undefined, failures: 0 }
      if (!this.#retries.takesAlone(create)) this.#queue.push(create)
      this.#expiry.watch(deadline)
      this.#sendAfterTurn()
    })
  }

  /**
   * Writes what is pending once, without further retries. Resolves when every request has its outcome; later requests
   * are not stored.
   */
  async close (): Promise<void> {
    this.#closing = true
    const unsent = this.#retries.holdsBack ? this.#queue.splice(0) : []
    for (const create of [...unsent, ...this.#retries.clear()]) giveUp(create, 'the store was closed before it could be sent')
    this.#send()
    if (!this.#isIdle) await new Promise<void>(resolve => { this.#idle.push(resolve) })
    this.#waitTimer?.clear()
    this.#expiry.stop()
  }

  get #isIdle (): boolean {
    return this.#inFlight === 0 && this.#queue.length === 0
  }

  #sendAfterTurn (): void {
    if (this.#turn === undefined) this.#turn = this.#clock.setImmediate(this.#send)
  }

  readonly #send = (): void => {
    this.#turn = undefined
    while (this.#inFlight < this.#writer.maxInFlight) {
      const batch = this.#nextBatch()
      if (batch === undefined) break
      if (batch.creates.length > 0) this.#write(batch)
    }
    if (this.#isIdle) for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Takes turns between the queue and the retries, so that neither delays the other, even if each retry hangs. */
  #nextBatch (): Batch | undefined {
    const retry = this.#retriesInFlight < Math.max(this.#writer.maxInFlight / 2, 1) ? this.#retries.next : undefined
    if (retry !== undefined && !(this.#retryWentLast && this.#queueIsReady())) {
      this.#retryWentLast = true
      this.#retries.takeNext()
      return { isRetry: true, creates: this.#inTime(retry) }
    }
    if (!this.#queueIsReady()) return undefined
    this.#retryWentLast = false
    this.#gathered = 0
    return { isRetry: false, creates: this.#takeFromQueue() }
  }

  #queueIsReady (): boolean {
    const count = this.#queue.length
    if (count === 0 || this.#retries.holdsBack) return false
    const enough = count >= this.#sizer.worthSending
    if (this.#inFlight > this.#retriesInFlight) return enough || this.#hasWaited()
    if (this.#closing || enough || count <= this.#gathered) return true
    // Nothing is in flight, but the last turn brought some: wait for another turn.
    this.#gathered = count
    this.#sendAfterTurn()
    return false
  }

  #hasWaited (): boolean {
    if (this.#clock.now() - this.#sentAt >= LONGEST_WAIT_MS) return true
    this.#waitTimer ??= this.#clock.setTimeout(() => {
      this.#waitTimer = undefined
      this.#send()
    }, LONGEST_WAIT_MS)
    return false
  }

  #takeFromQueue (): readonly PendingCreate[] {
    const free = this.#writer.maxInFlight - this.#inFlight
    const limit = Math.min(LARGEST_BATCH, Math.ceil(Math.max(this.#sizer.portion, this.#queue.length / free)))
    let characters = 0
    let taken = 0
    for (const { plant } of this.#queue) {
      characters += plant.name.length + (plant.tag?.length ?? 0)
      if (taken === limit || (characters > BATCH_CHARACTERS && taken > 0)) break
      taken++
    }
    const creates = this.#queue.slice(0, taken)
    this.#queue = this.#queue.slice(taken)
    return this.#inTime(creates)
  }

  #inTime (creates: readonly PendingCreate[]): readonly PendingCreate[] {
    const now = this.#clock.now()
    // A plant known not to be stored is not sent again so late that its outcome would be left open.
    const isInTime = ({ deadline, failure }: PendingCreate): boolean =>
      deadline > now + (failure instanceof PlantNotStored ? LEAST_TRY_MS : 0)
    if (creates.every(isInTime)) return creates
    for (const create of creates) if (!isInTime(create)) giveUp(create)
    return creates.filter(isInTime)
  }

  async #write (batch: Batch): Promise<void> {
    const { creates, isRetry } = batch
    const started = this.#clock.now()
    this.#inFlight++
    if (isRetry) this.#retriesInFlight++
    else this.#sentAt = started
    this.#plantsInFlight += creates.length
    this.#sizer.sent(this.#plantsInFlight + this.#queue.length, started)
    const message = publishStart(creates.length)
    const plants = creates.map(create => create.plant)
    const deadlines = creates.map(create => create.deadline)
    const results = await this.#writer.write(plants, Math.max(...deadlines), Math.min(...deadlines))
    const duration = this.#clock.now() - started
    this.#inFlight--
    if (isRetry) this.#retriesInFlight--
    this.#plantsInFlight -= creates.length

    if (!(results instanceof Error)) this.#sizer.written(duration)
    const again = results instanceof Error ? this.#failed(batch, results) : this.#settle(batch, results)
    if (message !== undefined) {
      channels.batchEnd.publish(Object.assign(message, { milliseconds: duration, retries: again }))
    }
    // After the responses: if processors are few, a thread that is woken earlier interrupts them. On two, that costs 5
    // to 15 % of the throughput.
    this.#sendAfterTurn()
  }

  /** @returns the number of plants that will be sent again */
  #settle ({ creates, isRetry }: Batch, results: readonly WriteResult[]): number {
    const again: PendingCreate[] = []
    creates.forEach((create, place) => {
      const result = results[place] ?? new PlantOutcomeUnknown('the store gave no result for it')
      if (typeof result === 'string') {
        create.resolve(result)
        this.#retries.stored(create)
      } else if (this.#mayTryAgain(create, result)) {
        again.push(create)
      }
    })
    if (again.length < creates.length) this.#retries.recover()
    else this.#retries.pauseAfter(creates, isRetry)
    if (again.length > 0) this.#retries.failedThemselves(again)
    return again.length
  }

  /** @returns the number of plants that will be sent again */
  #failed ({ creates, isRetry }: Batch, failure: CreateFailure): number {
    const again = creates.filter(create => this.#mayTryAgain(create, failure))
    this.#retries.failedTogether(again, isRetry)
    return again.length
  }

  #mayTryAgain (create: PendingCreate, failure: CreateFailure): boolean {
    // Once an attempt has left the outcome open, no later failure can settle it.
    if (!(create.failure instanceof PlantOutcomeUnknown)) create.failure = failure
    const isPermanent = failure instanceof PlantNotStored && failure.permanent
    if (this.#closing || isPermanent || create.deadline <= this.#clock.now() + RESPONSE_TIME_MS) {
      giveUp(create)
      return false
    }
    this.#expiry.watch(create.deadline)
    return true
  }
}

function publishStart (plants: number): BatchMessage | undefined {
  if (!channels.batchStart.hasSubscribers && !channels.batchEnd.hasSubscribers) return undefined
  const message: BatchMessage = { plants, milliseconds: undefined, retries: 0 }
  channels.batchStart.publish(message)
  return message
}
