import type { Clock } from '../../clock.js'
import type { NewPlant } from '../../plant.js'
import { checkedPlant, PlantNotStored, PlantOutcomeUnknown, type CreateOutcome } from '../store.js'
import { batchChannels, type BatchMessage } from './batch-channels.js'
import { Outage } from './outage.js'
import { PendingCreates, type PendingCreate } from './pending-creates.js'
import { RESPONSE_MARGIN_MS, type CreateError, type StoreWriter, type WriteResult } from './store-writer.js'

/** With less time left a plant is not sent again, since that could only leave its outcome open. */
const MINIMUM_ATTEMPT_MS = RESPONSE_MARGIN_MS + 50
/** One timer serves deadlines, pauses, and the plants that gather while batches are in flight. */
const TICK_MS = 5
/** How much longer than the last deadline `close` waits for a write that does not complete; and its longest wait. */
const CLOSE_MARGIN_MS = 1_000
const LONGEST_CLOSE_MS = 61_000

/** What the writes so far, or a check, have shown about the store. */
type StoreState =
  | { readonly kind: 'not tried' | 'works' }
  | { readonly kind: 'failed', readonly error: CreateError, readonly at: number }

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
  readonly #inFlight: (readonly PendingCreate[])[] = []
  readonly #outage: Outage
  #lastDeadline = 0
  #turn: object | undefined
  #timer: object | undefined

  constructor (private readonly writer: StoreWriter, private readonly clock: Clock, random: () => number) {
    this.#outage = new Outage(random)
  }

  create (given: NewPlant, deadline: number): Promise<CreateOutcome> {
    // What throws here rejects the promise of this caller, and affects no other.
    return new Promise((resolve, reject) => {
      const plant = checkedPlant(given)
      if (typeof deadline !== 'number' || Number.isNaN(deadline)) throw new TypeError('the deadline must be a number')
      if (this.isClosed) throw new PlantNotStored('the store is closed')
      const isIdle = this.#pending.isEmpty() && this.#inFlight.length === 0
      this.#lastDeadline = isIdle ? deadline : Math.max(this.#lastDeadline, deadline)
      this.#pending.add({ plant, deadline, resolve, reject, failure: undefined })
      if (this.#inFlight.length === 0) this.#turn ??= this.clock.setImmediate(this.#send)
      else this.#timer ??= this.clock.setTimeout(this.#tick, TICK_MS)
    })
  }

  /** Writes once what was not sent yet. Resolves when every request has its outcome, soon after the last deadline. */
  async close (): Promise<void> {
    this.isClosed = true
    const failed = this.#outage.isOn ? this.#takeAll() : this.#pending.takeRetries()
    failed.forEach(giveUp)
    this.#send()
    const end = Math.min(this.#lastDeadline + CLOSE_MARGIN_MS, this.clock.now() + LONGEST_CLOSE_MS)
    while ((this.#inFlight.length > 0 || !this.#pending.isEmpty()) && this.clock.now() < end) {
      await new Promise<void>(resolve => this.clock.setTimeout(resolve, TICK_MS))
    }
    const unknown = new PlantOutcomeUnknown('the store was closed before the write was complete')
    for (const batch of this.#inFlight) this.#settle(batch, unknown, this.clock.now())
    this.#takeAll().forEach(giveUp)
  }

  #takeAll (): PendingCreate[] {
    return this.#pending.takeUntil(Infinity)
  }

  readonly #tick = (): void => {
    this.#timer = undefined
    this.#pending.takeUntil(this.clock.now() + MINIMUM_ATTEMPT_MS).forEach(giveUp)
    this.#send()
  }

  readonly #send = (): void => {
    this.#turn = undefined
    const now = this.clock.now()
    this.#pending.takeUntil(now).forEach(giveUp)
    while (this.#maySend(now)) {
      const batch = this.#pending.takeBatch(this.#outage.batchLimit, now)
      if (batch.length === 0) break
      this.#write(batch, now)
    }
    if (!this.#pending.isEmpty()) this.#timer ??= this.clock.setTimeout(this.#tick, TICK_MS)
  }

  #maySend (now: number): boolean {
    if (this.#inFlight.length >= this.writer.maxInFlight) return false
    // A closed queue sends everything once, and nothing again.
    return this.isClosed || this.#outage.allows(now)
  }

  async #write (batch: readonly PendingCreate[], started: number): Promise<void> {
    this.#inFlight.push(batch)
    this.#outage.noteSent(batch)
    const message: BatchMessage = { plants: batch.length, milliseconds: undefined, retries: 0 }
    batchChannels.batchStart.publish(message)
    const plants = batch.map(({ plant }) => plant)
    const deadline = batch.reduce((latest, { deadline }) => Math.max(latest, deadline), 0)
    let results: readonly WriteResult[] | CreateError
    try {
      results = await this.writer.write(plants, deadline)
    } catch (cause) {
      // A writer should not reject. If it does, the plants may have been stored.
      results = new PlantOutcomeUnknown('the write failed in an unexpected way', { cause })
    }
    this.#inFlight.splice(this.#inFlight.indexOf(batch), 1)
    const now = this.clock.now()
    message.milliseconds = now - started
    message.retries = this.#settle(batch, results, now)
    batchChannels.batchEnd.publish(message)
    // After the responses: if processors are few, a thread that is woken earlier interrupts them. On two, that costs 5
    // to 15 % of the throughput.
    this.#turn ??= this.clock.setImmediate(this.#send)
  }

  /** @returns the number of plants that will be sent again */
  #settle (batch: readonly PendingCreate[], results: readonly WriteResult[] | CreateError, now: number): number {
    const hasFailed = results instanceof Error && !isPermanent(results)
    if (hasFailed) this.#outage.noteFailure(batch, now)
    else this.#outage.noteSuccess()
    this.#noteState(results, now)
    let retries = 0
    for (const [index, create] of batch.entries()) {
      const result = results instanceof Error ? results : results[index]
      if (typeof result === 'string') {
        create.resolve(result)
        continue
      }
      const error = result ?? new PlantOutcomeUnknown('the store gave no result')
      this.#noteFailure(create, error, hasFailed, batch.length === 1, now)
      if (isPermanent(error) || this.isClosed || !hasTime(create)) {
        giveUp(create)
      } else {
        this.#pending.add(create)
        retries++
      }
    }
    return retries
  }

  #noteFailure (create: PendingCreate, error: CreateError, ofBatch: boolean, isAlone: boolean, now: number): void {
    const { error: earlier, attempts = 0, hasFailedAlone = false } = create.failure ?? {}
    // Once an attempt has left the outcome open, no later failure can settle it.
    const isOpen = earlier instanceof PlantOutcomeUnknown && !(error instanceof PlantOutcomeUnknown)
    const failedAlone = hasFailedAlone || (ofBatch && isAlone)
    // An outage has a pause of its own, but for a plant that may be its cause.
    const dueAt = ofBatch && !failedAlone ? now : now + this.#outage.pauseAfter(attempts)
    create.failure = {
      error: isOpen ? new PlantOutcomeUnknown(error.message, { cause: error.cause }) : error,
      attempts: attempts + 1,
      dueAt,
      hasFailedAlone: failedAlone
    }
  }

  /** That plants are refused one by one shows nothing about the store. */
  #noteState (results: readonly WriteResult[] | CreateError, now: number): void {
    const each = results instanceof Error ? [results] : results
    const hasOutcome = each.some(result => typeof result === 'string')
    const error = results instanceof Error ? results : each.find(result => !isPermanent(result))
    if (hasOutcome) this.state = { kind: 'works' }
    else if (error instanceof Error) this.state = { kind: 'failed', error, at: now }
  }
}

function giveUp ({ reject, failure }: PendingCreate): void {
  reject(failure?.error ?? new PlantNotStored('the store was too busy to take it in time, or was closed'))
}

function hasTime ({ deadline, failure }: PendingCreate): boolean {
  return (failure?.dueAt ?? 0) + MINIMUM_ATTEMPT_MS < deadline
}

function isPermanent (result: WriteResult): boolean {
  return result instanceof PlantNotStored && result.permanent
}
