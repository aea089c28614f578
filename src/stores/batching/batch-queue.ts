import type { Clock } from '../../clock.js'
import { channels, type BatchMessage } from '../../diagnostics.js'
import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant } from '../plant-store.js'
import { RESPONSE_MARGIN_MS, type CreateError, type StoreWriter, type WriteResult } from './store-writer.js'

/** Of 512 at once, the main thread answers some while the others are written: 4 % less time than in one batch. */
const LARGEST_BATCH = 256
/** A MongoDB command holds 16 MiB, and a character takes 3 bytes at most. */
const BATCH_CHARACTERS = 4_000_000
/** With less time left a plant is not sent again, since that could only leave its outcome open. */
const MINIMUM_ATTEMPT_MS = RESPONSE_MARGIN_MS + 50
const FIRST_BACKOFF_MS = 25
const LONGEST_BACKOFF_MS = 250
/** One timer serves deadlines, back-offs, and the plants that gather while batches are in flight. */
const TICK_MS = 5

interface PendingCreate {
  readonly plant: NewPlant
  readonly deadline: number
  readonly resolve: (outcome: CreateOutcome) => void
  readonly reject: (reason: Error) => void
  dueAt: number
  failures: number
  earlierError: CreateError | undefined
}

/**
 * The create requests without an outcome. They share batches, and are sent again until their deadlines, which is safe:
 * the same plant again is `same`.
 *
 * A request is sent at the end of the event loop's turn, with all others of the turn. While batches are in flight, it
 * waits until one is complete or for the next tick: one that hangs does not hold up later ones. After a batch failed as
 * a whole, one at a time is sent as a probe, each after a longer back-off.
 */
export class BatchQueue {
  /** Why the store may be unable to take plants; undefined once a write has stored or found one. */
  fault: unknown = 'no plant was written yet'
  /** When a write has last failed. */
  failedAt = -Infinity
  isClosed = false
  #pending: PendingCreate[] = []
  #inFlight = 0
  #turn: object | undefined
  #timer: object | undefined
  /** How many batches have failed as a whole; of those that were in flight together, only the first counts. */
  #failures = 0
  #resumeAt = 0
  #probe: readonly PendingCreate[] | undefined

  constructor (
    private readonly writer: StoreWriter, private readonly clock: Clock, private readonly random: () => number
  ) {}

  create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
    if (this.isClosed) return Promise.reject(new PlantNotStored('the store is closed'))
    return new Promise((resolve, reject) => {
      this.#pending.push({ plant, deadline, resolve, reject, dueAt: 0, failures: 0, earlierError: undefined })
      if (this.#inFlight === 0) this.#turn ??= this.clock.setImmediate(this.#send)
      else this.#timer ??= this.clock.setTimeout(this.#tick, TICK_MS)
    })
  }

  /** Writes once what is pending and has not failed. Resolves when every request has its outcome. */
  async close (): Promise<void> {
    const isFailing = this.#failures > 0
    this.isClosed = true
    this.#pending = this.#pending.filter(create => (create.earlierError === undefined && !isFailing) || giveUp(create))
    this.#send()
    while (this.#inFlight + this.#pending.length > 0) {
      await new Promise<void>(resolve => this.clock.setTimeout(resolve, TICK_MS))
    }
  }

  readonly #tick = (): void => {
    this.#timer = undefined
    const late = this.clock.now() + MINIMUM_ATTEMPT_MS
    this.#pending = this.#pending.filter(create => create.deadline > late || giveUp(create))
    this.#send()
  }

  readonly #send = (): void => {
    this.#turn = undefined
    const now = this.clock.now()
    for (let batch = this.#nextBatch(now); batch.length > 0; batch = this.#nextBatch(now)) this.#write(batch, now)
    if (this.#pending.length > 0) this.#timer ??= this.clock.setTimeout(this.#tick, TICK_MS)
  }

  /** Takes the plants that may be sent now, as many as a batch holds. */
  #nextBatch (now: number): PendingCreate[] {
    const batch: PendingCreate[] = []
    const isHeldBack = this.#failures > 0 && (this.#probe !== undefined || now < this.#resumeAt)
    if (this.#inFlight >= this.writer.maxInFlight || (isHeldBack && !this.isClosed)) return batch
    let characters = 0
    this.#pending = this.#pending.filter(create => {
      const { name, tag } = create.plant
      const total = characters + name.length + (tag?.length ?? 0)
      const fits = batch.length === 0 || (batch.length < LARGEST_BATCH && total <= BATCH_CHARACTERS)
      if (create.dueAt > now || !fits) return true
      if (create.deadline <= now) return giveUp(create)
      characters = total
      batch.push(create)
      return false
    })
    return batch
  }

  async #write (batch: readonly PendingCreate[], started: number): Promise<void> {
    if (this.#failures > 0) this.#probe = batch
    this.#inFlight++
    const message: BatchMessage = { plants: batch.length, milliseconds: undefined, retries: 0 }
    channels.batchStart.publish(message)
    const deadlines = batch.map(({ deadline }) => deadline)
    const plants = batch.map(({ plant }) => plant)
    const results = await this.writer.write(plants, Math.max(...deadlines), Math.min(...deadlines))
    const now = this.clock.now()
    this.#inFlight--
    message.milliseconds = now - started
    message.retries = this.#settle(batch, results, now)
    channels.batchEnd.publish(message)
    // After the responses: if processors are few, a thread that is woken earlier interrupts them. On two, that costs 5
    // to 15 % of the throughput.
    this.#turn ??= this.clock.setImmediate(this.#send)
  }

  /** @returns the number of plants that will be sent again */
  #settle (batch: readonly PendingCreate[], results: readonly WriteResult[] | CreateError, now: number): number {
    const jitter = 0.5 + this.random() / 2
    const backoff = (failures: number) => jitter * Math.min(FIRST_BACKOFF_MS * 2 ** failures, LONGEST_BACKOFF_MS)
    const hasFailed = results instanceof Error && !isPermanent(results)
    if (!hasFailed || this.#failures === 0 || this.#probe === batch) {
      this.#probe = undefined
      this.#resumeAt = now + backoff(this.#failures)
      this.#failures = hasFailed ? this.#failures + 1 : 0
    }
    // That a plant is refused tells nothing about the store.
    const before = this.fault
    if (results instanceof Error) this.fault = results
    else if (results.some(result => typeof result === 'string')) this.fault = undefined
    else this.fault = results.find(result => !isPermanent(result)) ?? this.fault
    if (this.fault !== before) this.failedAt = now
    const again = batch.filter((create, index) => {
      const result = results instanceof Error ? results : results[index] ?? new PlantOutcomeUnknown('the store gave no result')
      if (typeof result === 'string') return create.resolve(result)
      // Once an attempt has left the outcome open, no later failure can settle it.
      if (!(create.earlierError instanceof PlantOutcomeUnknown)) create.earlierError = result
      if (!hasFailed) create.dueAt = now + backoff(create.failures++)
      const isLast = isPermanent(result) || this.isClosed || create.deadline <= now + MINIMUM_ATTEMPT_MS
      return !isLast || giveUp(create)
    })
    if (again.length > 0) this.#pending = again.concat(this.#pending)
    return again.length
  }
}

function isPermanent (result: WriteResult): boolean {
  return result instanceof PlantNotStored && result.permanent
}

function giveUp ({ reject, earlierError }: PendingCreate): false {
  reject(earlierError ?? new PlantNotStored('the store was too busy to take it in time, or was closed'))
  return false
}
