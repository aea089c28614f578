import type { Clock } from '../../clock.js'
import { channels, type BatchMessage } from '../../diagnostics.js'
import {
  checkDeadline, checkedPlant, PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant
} from '../plant-store.js'
import { PendingCreates, type PendingCreate } from './pending-creates.js'
import {
  isCreateError, isOutcome, isPermanent, RESPONSE_MARGIN_MS, stateShownBy,
  type CreateError, type StoreState, type StoreWriter, type WriteResult
} from './store-writer.js'

/** Of 512 at once, the main thread answers some while the others are written: 4 % less time than in one batch. */
const LARGEST_BATCH = 256
/** A MongoDB command holds 16 MiB, and a character takes 3 bytes at most. */
const BATCH_CHARACTERS = 4_000_000
/** With less time left a plant is not sent again, since that could only leave its outcome open. */
const MINIMUM_ATTEMPT_MS = RESPONSE_MARGIN_MS + 50
const FIRST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 250
/** One timer serves deadlines, pauses, and the plants that gather while batches are in flight. */
const TICK_MS = 5
/** How much longer than the last deadline `close` waits for a write that does not complete; and its longest wait. */
const CLOSE_MARGIN_MS = 1_000
const LONGEST_CLOSE_MS = 61_000

/** From when a batch fails as a whole until one does not. One batch at a time is sent, as a probe, after each pause. */
interface Outage {
  failures: number
  resumeAt: number
  probe: readonly PendingCreate[] | undefined
}

/**
 * The create requests without an outcome. They share batches, and are sent again until their deadlines, which is safe:
 * the same plant again is `same`.
 *
 * A request is sent at the end of the event loop's turn, with all others of the turn. While batches are in flight, it
 * waits until one is complete or for the next tick: one that hangs does not hold up later ones.
 */
export class BatchQueue {
  state: StoreState = { kind: 'not tried' }
  isClosed = false
  readonly #pending = new PendingCreates()
  readonly #inFlight = new Set<readonly PendingCreate[]>()
  #outage: Outage | undefined
  #lastDeadline = 0
  #turn: object | undefined
  #timer: object | undefined

  constructor (
    private readonly writer: StoreWriter, private readonly clock: Clock, private readonly random: () => number
  ) {}

  create (given: NewPlant, deadline: number): Promise<CreateOutcome> {
    // What throws here rejects the promise of this caller, and affects no other.
    return new Promise((resolve, reject) => {
      const plant = checkedPlant(given)
      checkDeadline(deadline)
      if (this.isClosed) throw new PlantNotStored('the store is closed')
      const characters = plant.name.length + (plant.tag?.length ?? 0)
      this.#pending.addLast({ plant, characters, deadline, resolve, reject, failures: 0, earlierError: undefined })
      this.#lastDeadline = Math.max(this.#lastDeadline, deadline)
      if (this.#inFlight.size === 0) this.#turn ??= this.clock.setImmediate(this.#send)
      else this.#timer ??= this.clock.setTimeout(this.#tick, TICK_MS)
    })
  }

  /** Writes once what has not failed yet. Resolves when every request has its outcome, soon after the last deadline. */
  async close (): Promise<void> {
    this.isClosed = true
    const isFailing = this.#outage !== undefined
    for (const create of this.#pending.takeAll()) {
      if (isFailing || create.earlierError !== undefined) giveUp(create)
      else this.#pending.addLast(create)
    }
    this.#send()
    const end = Math.min(this.#lastDeadline + CLOSE_MARGIN_MS, this.clock.now() + LONGEST_CLOSE_MS)
    while ((this.#inFlight.size > 0 || !this.#pending.isEmpty) && this.clock.now() < end) {
      await new Promise<void>(resolve => this.clock.setTimeout(resolve, TICK_MS))
    }
    const unknown = new PlantOutcomeUnknown('the store was closed before the write was complete')
    for (const batch of this.#inFlight) this.#settle(batch, unknown, this.clock.now())
    this.#pending.takeAll().forEach(giveUp)
  }

  readonly #tick = (): void => {
    this.#timer = undefined
    const now = this.clock.now()
    this.#pending.resume(now)
    this.#pending.takeUntil(now + MINIMUM_ATTEMPT_MS).forEach(giveUp)
    this.#send()
  }

  readonly #send = (): void => {
    this.#turn = undefined
    const now = this.clock.now()
    while (this.#maySend(now)) {
      const batch = this.#takeBatch(now)
      if (batch.length === 0) break
      this.#write(batch, now)
    }
    if (!this.#pending.isEmpty) this.#timer ??= this.clock.setTimeout(this.#tick, TICK_MS)
  }

  #maySend (now: number): boolean {
    if (this.#inFlight.size >= this.writer.maxInFlight) return false
    // A closed queue sends everything once, and nothing again.
    if (this.#outage === undefined || this.isClosed) return true
    return this.#outage.probe === undefined && now >= this.#outage.resumeAt
  }

  #takeBatch (now: number): PendingCreate[] {
    const batch: PendingCreate[] = []
    let characters = 0
    for (let create = this.#pending.first; create !== undefined; create = this.#pending.first) {
      const isFull = batch.length === LARGEST_BATCH || characters + create.characters > BATCH_CHARACTERS
      if (isFull && batch.length > 0) break
      this.#pending.removeFirst()
      if (create.deadline <= now) {
        giveUp(create)
      } else {
        characters += create.characters
        batch.push(create)
      }
    }
    return batch
  }

  async #write (batch: readonly PendingCreate[], started: number): Promise<void> {
    this.#inFlight.add(batch)
    if (this.#outage !== undefined) this.#outage.probe = batch
    const message: BatchMessage = { plants: batch.length, milliseconds: undefined, retries: 0 }
    channels.batchStart.publish(message)
    const plants: NewPlant[] = []
    let earliest = Infinity
    let latest = -Infinity
    for (const { plant, deadline } of batch) {
      plants.push(plant)
      earliest = Math.min(earliest, deadline)
      latest = Math.max(latest, deadline)
    }
    let results: readonly WriteResult[] | CreateError
    try {
      results = await this.writer.write(plants, latest, earliest)
      if (!Array.isArray(results) && !isCreateError(results)) throw new TypeError('the writer gave no results')
    } catch (cause) {
      // A writer should not reject. If it does, the plants may have been stored.
      results = new PlantOutcomeUnknown('the write failed in an unexpected way', { cause })
    }
    this.#inFlight.delete(batch)
    const now = this.clock.now()
    message.milliseconds = now - started
    message.retries = this.#settle(batch, results, now)
    channels.batchEnd.publish(message)
    // After the responses: if processors are few, a thread that is woken earlier interrupts them. On two, that costs 5
    // to 15 % of the throughput.
    this.#turn ??= this.clock.setImmediate(this.#send)
  }

  /** @returns the number of plants that will be sent again */
  #settle (batch: readonly PendingCreate[], results: readonly WriteResult[] | CreateError, now: number): number {
    const hasFailed = results instanceof Error && !isPermanent(results)
    this.#noteOutage(batch, hasFailed, now)
    this.state = stateShownBy(results, now) ?? this.state
    const again: PendingCreate[] = []
    const each = results instanceof Error ? batch.map(() => results) : results
    let index = 0
    for (const create of batch) {
      const result = each[index++]
      if (isOutcome(result)) {
        create.resolve(result)
        continue
      }
      const error = isCreateError(result) ? result : new PlantOutcomeUnknown('the store gave no result')
      // Once an attempt has left the outcome open, no later failure can settle it.
      if (!(create.earlierError instanceof PlantOutcomeUnknown)) create.earlierError = error
      const pause = hasFailed ? 0 : this.#pause(create.failures)
      const hasTime = now + pause + MINIMUM_ATTEMPT_MS < create.deadline
      if (isPermanent(error) || this.isClosed || !hasTime) {
        giveUp(create)
      } else {
        again.push(create)
        if (!hasFailed) this.#pending.pause(create, now + pause)
      }
    }
    if (hasFailed) this.#pending.addFirst(again)
    return again.length
  }

  #noteOutage (batch: readonly PendingCreate[], hasFailed: boolean, now: number): void {
    if (!hasFailed) {
      this.#outage = undefined
    } else if (this.#outage === undefined) {
      this.#outage = { failures: 1, resumeAt: now + this.#pause(0), probe: undefined }
    } else if (this.#outage.probe === batch) {
      const { failures } = this.#outage
      this.#outage = { failures: failures + 1, resumeAt: now + this.#pause(failures), probe: undefined }
    }
    // Any other batch was in flight when the outage began, and tells nothing new.
  }

  /** Milliseconds to wait after a number of earlier failures, and a random part less. */
  #pause (failures: number): number {
    const longest = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS)
    return longest * (0.5 + this.random() / 2)
  }
}

function giveUp ({ reject, earlierError }: PendingCreate): void {
  reject(earlierError ?? new PlantNotStored('the store was too busy to take it in time, or was closed'))
}
