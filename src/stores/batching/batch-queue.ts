import type { Clock, Timer } from '../../clock.js'
import { channels, type BatchMessage } from '../../diagnostics.js'
import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant } from '../../plant-store.js'
import { BatchSizer, LARGEST_BATCH } from './batch-sizer.js'
import { RESPONSE_TIME_MS, type CreateFailure, type StoreWriter, type WriteResult } from './store-writer.js'

// A MongoDB command holds 16 MiB, and a character takes 3 bytes at most (each half of a surrogate pair takes 2).
const BATCH_CHARACTERS = 4_000_000
/** A plant that is known not to be stored, or held back, is not sent so late that its outcome would be left open. */
const LEAST_TRY_MS = RESPONSE_TIME_MS + 50
/** The longest wait for batches in flight: one of them may hang, with a connection that was lost. */
const LONGEST_WAIT_MS = 100
/** Few, since in an outage all of them fail. Without an outage or new plants, they find the plant that fails. */
const PROBES_AT_ONCE = 4
const FIRST_BACKOFF_MS = 25
const LONGEST_BACKOFF_MS = 1_000
/** How often a timer looks at what is pending: one for all back-offs and deadlines. */
const TICK_MS = 10

/** A create request without an outcome. */
interface PendingCreate {
  readonly plant: NewPlant
  readonly deadline: number
  readonly resolve: (outcome: CreateOutcome) => void
  readonly reject: (reason: Error) => void
  /** Why an earlier attempt failed. */
  failure: CreateFailure | undefined
  /** How often it failed by itself: with a result of its own, or alone while others were stored. */
  ownFailures: number
  /** When it may be sent. */
  dueAt: number
  /** The most plants in its batch, which it shares only with plants that have the same limit. */
  batchLimit: number
}

/**
 * The pending create requests. They share batches, each with its own outcome, and are sent again until their deadlines,
 * which is safe, since the same plant again is `same`.
 *
 * A request is sent at the end of the event loop's turn, with all others of the turn. If further turns bring more, or
 * batches are in flight, it waits until there are as many as `BatchSizer` considers worth a batch, or for 0.1 s; never
 * if nothing is in flight: an idle store adds no delay.
 *
 * A batch that fails as a whole may have failed because of one plant. It is divided, and its parts are sent as soon as
 * another write succeeds, so that soon all but the faulty plant are stored. A plant that fails alone, or with a result
 * of its own, has a back-off of its own. While no write succeeds, as in an outage, only a few batches at a time are
 * sent as probes, with a common back-off.
 */
export class BatchQueue {
  /** Why the last write failed; undefined if it stored or found a plant, or refused each for a reason of its own. */
  failure: CreateFailure | undefined
  failedAt = 0
  readonly #writer: StoreWriter
  readonly #clock: Clock
  /** Back-offs are shortened at random, so that processes do not retry in step. */
  readonly #jitter: () => number
  readonly #sizer = new BatchSizer()
  #pending: PendingCreate[] = []
  #inFlight = 0
  #plantsInFlight = 0
  #turn: object | undefined
  #timer: Timer | undefined
  /** How many requests were pending in the last turn. */
  #gathered = 0
  /** When new plants were last sent. */
  #sentAt = 0
  /** How many batches may be sent before `#resumeAt`: a few after one has failed, until one succeeds. */
  #probes = Infinity
  #resumeAt = -Infinity
  #backoff = FIRST_BACKOFF_MS
  #closed: Promise<void> | undefined
  #onIdle = (): void => {}

  /** @param random as `Math.random` */
  constructor (writer: StoreWriter, clock: Clock, random: () => number) {
    this.#writer = writer
    this.#clock = clock
    this.#jitter = () => 0.5 + random() / 2
  }

  create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
    if (this.#closed !== undefined) return Promise.reject(new PlantNotStored('the store is closed'))
    return new Promise((resolve, reject) => {
      this.#pending.push({
        plant, deadline, resolve, reject, failure: undefined, ownFailures: 0, dueAt: 0, batchLimit: LARGEST_BATCH
      })
      this.#sendAfterTurn()
    })
  }

  /** Writes what is pending once, without retries. Resolves when every request has its outcome. */
  close (): Promise<void> {
    this.#closed ??= new Promise(resolve => {
      this.#onIdle = resolve
      this.#gathered = Infinity
      const isGivenUp = ({ failure }: PendingCreate): boolean => failure !== undefined || this.#probes === 0
      this.#giveUp(isGivenUp, 'the store was closed before it could be sent')
      this.#send()
    })
    return this.#closed
  }

  #sendAfterTurn (): void {
    this.#turn ??= this.#clock.setImmediate(this.#send)
  }

  readonly #send = (): void => {
    this.#turn = undefined
    while (this.#inFlight < this.#writer.maxInFlight) {
      const now = this.#clock.now()
      const first = this.#next(now)
      if (first === undefined) break
      const batch = this.#take(first, now)
      if (batch.length > 0) this.#write(batch, now)
    }
    if (this.#pending.length > 0) this.#timer ??= this.#clock.setTimeout(this.#tick, TICK_MS)
    else if (this.#inFlight === 0) this.#onIdle()
  }

  readonly #tick = (): void => {
    this.#timer = undefined
    const late = this.#clock.now() + (this.#probes === 0 ? LEAST_TRY_MS : RESPONSE_TIME_MS)
    this.#giveUp(({ deadline }) => deadline <= late)
    this.#send()
  }

  /** The plant whose batch is to be sent now, if any is. */
  #next (now: number): PendingCreate | undefined {
    if (this.#probes === 0 && now < this.#resumeAt) return undefined
    const due = this.#pending.find(({ dueAt }) => dueAt <= now)
    // The last probe is left to new plants.
    const next = (this.#probes === 1 && this.#pending.find(create => isNew(create) && create.dueAt <= now)) || due
    return next !== undefined && isNew(next) && !this.#isWorthSending(now) ? undefined : next
  }

  /** Whether there are enough new plants for a batch, or they have waited for long enough. */
  #isWorthSending (now: number): boolean {
    const { length } = this.#pending
    if (length < this.#sizer.worthSending) {
      if (this.#inFlight > 0) {
        if (now < this.#sentAt + LONGEST_WAIT_MS) return false
      } else if (length > this.#gathered) {
        // The last turn brought some: wait for another turn.
        this.#gathered = length
        this.#sendAfterTurn()
        return false
      }
    }
    this.#gathered = 0
    this.#sentAt = now
    return true
  }

  /** Takes the plants that can share a batch with the first. */
  #take (first: PendingCreate, now: number): PendingCreate[] {
    const free = this.#writer.maxInFlight - this.#inFlight
    this.#sizer.sent(this.#plantsInFlight + this.#pending.length, now)
    const limit = Math.min(first.batchLimit, this.#sizer.limit(this.#pending.length, free))
    const batch: PendingCreate[] = []
    const others: PendingCreate[] = []
    let characters = 0
    for (const create of this.#pending) {
      const { plant: { name, tag }, deadline, failure, dueAt, batchLimit } = create
      const size = name.length + (tag?.length ?? 0)
      const fits = batch.length < limit && (batch.length === 0 || characters + size <= BATCH_CHARACTERS)
      if (dueAt > now || batchLimit !== first.batchLimit || !fits) {
        others.push(create)
      } else if (deadline <= now + (failure instanceof PlantNotStored ? LEAST_TRY_MS : 0)) {
        giveUp(create)
      } else {
        characters += size
        batch.push(create)
      }
    }
    this.#pending = others
    return batch
  }

  async #write (batch: readonly PendingCreate[], started: number): Promise<void> {
    if (this.#probes === 0) this.#pause(batch, started)
    this.#probes--
    this.#inFlight++
    this.#plantsInFlight += batch.length
    const message: BatchMessage = { plants: batch.length, milliseconds: undefined, retries: 0 }
    channels.batchStart.publish(message)
    const plants = batch.map(({ plant }) => plant)
    const deadlines = batch.map(({ deadline }) => deadline)
    const results = await this.#writer.write(plants, Math.max(...deadlines), Math.min(...deadlines))
    const now = this.#clock.now()
    this.#inFlight--
    this.#plantsInFlight -= batch.length
    message.milliseconds = now - started
    if (!(results instanceof Error)) this.#sizer.written(now - started)
    message.retries = this.#settle(batch, results, now)
    channels.batchEnd.publish(message)
    // After the responses: if processors are few, a thread that is woken earlier interrupts them. On two, that costs 5
    // to 15 % of the throughput.
    this.#sendAfterTurn()
  }

  /** @returns the number of plants that will be sent again */
  #settle (batch: readonly PendingCreate[], results: readonly WriteResult[] | CreateFailure, now: number): number {
    // It fails alone, while others are stored.
    const isFaulty = batch[0]?.batchLimit === 1 && this.#probes === Infinity
    this.failure = failureOf(results)
    if (this.failure === undefined) this.#recover()
    else {
      this.failedAt = now
      if (!isFaulty && !isPermanent(this.failure) && now >= this.#resumeAt) this.#pause(batch, now)
    }
    const again: PendingCreate[] = []
    const jitter = this.#jitter()
    batch.forEach((create, place) => {
      const result = results instanceof Error ? results : results[place] ?? new PlantOutcomeUnknown('the store gave no result')
      if (typeof result === 'string') return create.resolve(result)
      // Once an attempt has left the outcome open, no later failure can settle it.
      if (!(create.failure instanceof PlantOutcomeUnknown)) create.failure = result
      const isLast = create.deadline <= now + RESPONSE_TIME_MS || this.#closed !== undefined
      if (isLast || isPermanent(result)) return giveUp(create)
      if (results instanceof Error && !isFaulty) {
        create.batchLimit = Math.ceil(batch.length / PROBES_AT_ONCE)
        create.dueAt = this.#resumeAt
      } else {
        create.dueAt = now + jitter * Math.min(FIRST_BACKOFF_MS * 2 ** create.ownFailures++, LONGEST_BACKOFF_MS)
      }
      again.push(create)
    })
    // The parts of a batch come first, so that one is soon stored; a plant that failed alone comes last.
    if (batch.length > 1) this.#pending.unshift(...again)
    else this.#pending.push(...again)
    return again.length
  }

  /** After a success, the parts of batches that failed are due. */
  #recover (): void {
    if (this.#probes === Infinity) return
    this.#probes = Infinity
    this.#resumeAt = -Infinity
    this.#backoff = FIRST_BACKOFF_MS
    for (const create of this.#pending) if (!isNew(create) && create.ownFailures === 0) create.dueAt = 0
  }

  /** Starts a back-off. It leaves time for other attempts before the deadline of the batch. */
  #pause (batch: readonly PendingCreate[], now: number): void {
    const timeLeft = Math.max(...batch.map(({ deadline }) => deadline)) - now
    this.#resumeAt = now + this.#jitter() * Math.max(Math.min(this.#backoff, timeLeft / 2), FIRST_BACKOFF_MS)
    this.#backoff = Math.min(this.#backoff * 2, LONGEST_BACKOFF_MS)
    this.#probes = PROBES_AT_ONCE
  }

  #giveUp (which: (create: PendingCreate) => boolean, reason?: string): void {
    for (const create of this.#pending) if (which(create)) giveUp(create, reason)
    this.#pending = this.#pending.filter(create => !which(create))
  }
}

/** Whether no batch with it has failed as a whole. */
function isNew ({ batchLimit }: PendingCreate): boolean {
  return batchLimit === LARGEST_BATCH
}

/** @param reason why it was not sent, if it never was */
function giveUp (create: PendingCreate, reason = 'the store was too busy to take it in time'): void {
  create.reject(create.failure ?? new PlantNotStored(reason))
}

function isPermanent (failure: CreateFailure): boolean {
  return failure instanceof PlantNotStored && failure.permanent
}

/** Why a write failed; undefined if it stored or found a plant, or refused each for a reason of its own. */
function failureOf (results: readonly WriteResult[] | CreateFailure): CreateFailure | undefined {
  if (results instanceof Error) return results
  if (results.some(result => typeof result === 'string')) return undefined
  return results.find((result): result is CreateFailure => typeof result !== 'string' && !isPermanent(result))
}
