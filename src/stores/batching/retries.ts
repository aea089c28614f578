import type { Clock, Timer } from '../../clock.js'
import { latestDeadline, type PendingCreate } from './pending-create.js'

/**
 * - `queued`: from the queue;
 * - `probe`: part of a batch that failed as a whole, sent to see whether the store works again;
 * - `apart`: part of a batch that failed as a whole although the store works.
 */
type Kind = 'queued' | 'probe' | 'apart'

export interface Batch {
  readonly kind: Kind
  readonly creates: readonly PendingCreate[]
}

// A failed attempt is repeated after 25 ms, 50, 100, … 1,000, each between half and all of it, so that processes do not
// retry in step.
const FIRST_BACKOFF_MS = 25
const LONGEST_BACKOFF_MS = 1_000
/** In an outage, probes fail; without other plants to show that there is no outage, they find the plant that fails. */
const PROBES_AT_ONCE = 4
/** The number of remembered ids whose plants failed while others were stored. */
const ISOLATED_IDS = 1_000

/** The callbacks of `Retries`. */
interface Sender {
  /** Returns requests to the queue, where they may share a batch with others again. */
  requeue (creates: readonly PendingCreate[]): void
  /** Called when something can be sent. */
  send (): void
}

/**
 * The failed create requests, until they are sent again.
 *
 * A batch that fails as a whole may have failed because of one plant, so it is split. The halves wait until another
 * write succeeds, and are then sent one by one, split again if they fail: all other plants are stored after a few
 * writes. While no write succeeds, as in an outage, only a few parts at a time are sent as probes, with back-off. A
 * plant that fails alone while others are stored is sent alone from then on, by its id.
 */
export class Retries {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #sender: Sender
  /** Parts of batches that failed as a whole, with no successful write since. */
  #suspects: (readonly PendingCreate[])[] = []
  /** Batches that can be sent now. */
  #ready: Batch[] = []
  /** Batches waiting for a back-off of their own. */
  readonly #later = new Map<Timer, Batch>()
  readonly #isolatedIds = new Set<bigint>()
  /** No write has succeeded since the last batch that failed as a whole. */
  #failing = false
  /** Set while there are suspects or the queue is held back. */
  #probeTimer: Timer | undefined
  #backoff = FIRST_BACKOFF_MS
  /** Milliseconds until the last deadline of the plants that failed last. */
  #timeLeft = Infinity
  #holdsBack = false

  constructor (clock: Clock, random: () => number, sender: Sender) {
    this.#clock = clock
    this.#random = random
    this.#sender = sender
  }

  /** Whether the queue is held back: two batches have failed, with no success since. */
  get holdsBack (): boolean {
    return this.#holdsBack
  }

  /** The next batch that can be sent now, if there is one. */
  get next (): Batch | undefined {
    return this.#ready[0]
  }

  takeNext (): void {
    this.#ready.shift()
  }

  /** Takes a request whose plant has failed alone before; leaves any other to the queue. */
  takesAlone (create: PendingCreate): boolean {
    if (this.#isolatedIds.size === 0 || !this.#isolatedIds.has(create.plant.id)) return false
    this.#ready.push({ kind: 'apart', creates: [create] })
    return true
  }

  /** Reports a stored plant. */
  stored ({ plant }: PendingCreate): void {
    this.#isolatedIds.delete(plant.id)
  }

  /** Reports requests that each failed by itself: they may return to the queue, but do not hold it up. */
  failedThemselves (creates: readonly PendingCreate[]): void {
    for (const create of creates) create.failures++
    this.#sendLater({ kind: 'queued', creates })
  }

  /** Reports a batch that failed as a whole; `creates` is empty if none of its plants may be retried. */
  failedTogether ({ kind, creates }: Batch): void {
    const [first] = creates
    if (first === undefined) return
    if (kind === 'apart' && creates.length === 1) {
      first.failures++
      this.#isolate(first.plant.id)
      this.#sendLater({ kind, creates })
      return
    }
    const half = Math.ceil(creates.length / 2)
    this.#suspects.push(creates.slice(0, half))
    if (half < creates.length) this.#suspects.push(creates.slice(half))
    this.pauseAfter({ kind, creates })
  }

  /** Reports a successful write: the suspects are sent now. */
  recover (): void {
    this.#failing = false
    this.#holdsBack = false
    this.#backoff = FIRST_BACKOFF_MS
    this.#probeTimer?.clear()
    this.#probeTimer = undefined
    for (const creates of this.#suspects.splice(0)) this.#ready.push({ kind: 'apart', creates })
  }

  /** Reports a batch without a stored plant. The second in a row without a success holds the queue back. */
  pauseAfter ({ kind, creates }: Batch): void {
    if (kind === 'queued' && this.#failing) this.#holdsBack = true
    this.#failing = true
    this.#timeLeft = latestDeadline(creates) - this.#clock.now()
    this.#startProbeTimer()
  }

  /** Keeps only the requests for which `waits` returns true. */
  filter (waits: (create: PendingCreate) => boolean): void {
    this.#suspects = this.#suspects.map(creates => creates.filter(waits)).filter(creates => creates.length > 0)
    this.#ready = this.#ready.map(({ kind, creates }) => ({ kind, creates: creates.filter(waits) }))
    for (const [timer, { kind, creates }] of this.#later) {
      this.#later.set(timer, { kind, creates: creates.filter(waits) })
    }
  }

  /** Removes and returns all requests, and stops all timers. */
  clear (): readonly PendingCreate[] {
    const batches = [...this.#ready, ...this.#later.values()]
    const creates = [...this.#suspects, ...batches.map(({ creates }) => creates)].flat()
    for (const timer of this.#later.keys()) timer.clear()
    this.#later.clear()
    this.#suspects = []
    this.#ready = []
    this.recover()
    return creates
  }

  #isolate (id: bigint): void {
    this.#isolatedIds.add(id)
    const [oldest = id] = this.#isolatedIds
    if (this.#isolatedIds.size > ISOLATED_IDS) this.#isolatedIds.delete(oldest)
  }

  #sendLater (batch: Batch): void {
    const failures = Math.max(...batch.creates.map(create => create.failures))
    const backoff = Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), LONGEST_BACKOFF_MS)
    const timer = this.#clock.setTimeout(() => {
      // The batch without the requests given up since.
      const { kind, creates } = this.#later.get(timer) ?? batch
      this.#later.delete(timer)
      if (kind === 'queued') this.#sender.requeue(creates)
      else this.#ready.push({ kind, creates })
      this.#sender.send()
    }, this.#jittered(backoff))
    this.#later.set(timer, batch)
  }

  #startProbeTimer (): void {
    if (this.#probeTimer !== undefined) return
    // New requests must also be attempted before their deadlines.
    const backoff = Math.max(Math.min(this.#backoff, this.#timeLeft / 2), FIRST_BACKOFF_MS)
    this.#probeTimer = this.#clock.setTimeout(this.#probe, this.#jittered(backoff))
    this.#backoff = Math.min(this.#backoff * 2, LONGEST_BACKOFF_MS)
  }

  readonly #probe = (): void => {
    this.#probeTimer = undefined
    this.#holdsBack = false
    for (const creates of this.#suspects.splice(0, PROBES_AT_ONCE)) this.#ready.push({ kind: 'probe', creates })
    if (this.#suspects.length > 0) this.#startProbeTimer()
    this.#sender.send()
  }

  #jittered (backoff: number): number {
    return backoff * (0.5 + this.#random() / 2)
  }
}
