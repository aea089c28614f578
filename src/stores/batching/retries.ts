import type { Clock, Timer } from '../../clock.js'
import type { PendingCreate } from './pending-create.js'

type Batch = readonly PendingCreate[]

// A failed attempt is repeated after 25 ms, 50, 100, … 1,000, each shortened at random, down to half, so that processes
// do not retry in step.
const FIRST_BACKOFF_MS = 25
const LONGEST_BACKOFF_MS = 1_000
/** Few, since in an outage all probes fail. Without an outage or new plants, they find the plant that fails. */
const PROBES_AT_ONCE = 4
/** The number of remembered ids whose plants failed while others were stored. */
const ISOLATED_IDS = 1_000

/**
 * The failed create requests, until they are sent again.
 *
 * A batch that fails as a whole may have failed because of one plant, so it is split. The halves wait until another
 * write succeeds, and are then sent one by one, split again if they fail: all other plants are stored after a few
 * writes. While no write succeeds, as in an outage, only a few parts at a time are sent as probes, with back-off. A
 * plant that fails alone while others are stored is sent alone from then on, by its id.
 *
 * Plants that failed with a result of their own are sent again together, after a back-off of their own.
 */
export class Retries {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #send: () => void
  /** Parts of batches that failed as a whole, with no successful write since. */
  #suspects: Batch[] = []
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

  /** @param send called when something can be sent */
  constructor (clock: Clock, random: () => number, send: () => void) {
    this.#clock = clock
    this.#random = random
    this.#send = send
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
    this.#ready.push([create])
    return true
  }

  /** Reports a stored plant. */
  stored ({ plant }: PendingCreate): void {
    this.#isolatedIds.delete(plant.id)
  }

  /** Reports requests that each failed by itself. */
  failedThemselves (creates: Batch): void {
    for (const create of creates) create.failures++
    const failures = Math.max(...creates.map(({ failures }) => failures))
    const backoff = Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), LONGEST_BACKOFF_MS)
    const timer = this.#clock.setTimeout(() => {
      // Without the requests given up since.
      this.#ready.push(this.#later.get(timer) ?? [])
      this.#later.delete(timer)
      this.#send()
    }, this.#jittered(backoff))
    this.#later.set(timer, creates)
  }

  /**
   * Reports a batch that failed as a whole.
   * @param creates those of its plants that may be retried
   */
  failedTogether (creates: Batch, isRetry: boolean): void {
    const [first] = creates
    if (first === undefined) return
    if (isRetry && creates.length === 1 && !this.#failing) {
      this.#isolate(first.plant.id)
      return this.failedThemselves(creates)
    }
    const half = Math.ceil(creates.length / 2)
    this.#suspects.push(creates.slice(0, half))
    if (half < creates.length) this.#suspects.push(creates.slice(half))
    this.pauseAfter(creates, isRetry)
  }

  /** Reports a successful write: the suspects are sent now. */
  recover (): void {
    this.#failing = false
    this.#holdsBack = false
    this.#backoff = FIRST_BACKOFF_MS
    this.#probeTimer?.clear()
    this.#probeTimer = undefined
    this.#ready.push(...this.#suspects.splice(0))
  }

  /** Reports a batch without a stored plant. The second new one in a row without a success holds the queue back. */
  pauseAfter (creates: Batch, isRetry: boolean): void {
    if (!isRetry && this.#failing) this.#holdsBack = true
    this.#failing = true
    this.#timeLeft = Math.max(...creates.map(({ deadline }) => deadline)) - this.#clock.now()
    this.#startProbeTimer()
  }

  /** Keeps only the requests for which `waits` returns true. */
  filter (waits: (create: PendingCreate) => boolean): void {
    this.#suspects = this.#suspects.map(creates => creates.filter(waits)).filter(creates => creates.length > 0)
    this.#ready = this.#ready.map(creates => creates.filter(waits))
    for (const [timer, creates] of this.#later) this.#later.set(timer, creates.filter(waits))
  }

  /** Removes and returns all requests, and stops all timers. */
  clear (): Batch {
    const creates = [...this.#suspects, ...this.#ready, ...this.#later.values()].flat()
    for (const timer of this.#later.keys()) timer.clear()
    this.#later.clear()
    this.#suspects = []
    this.recover()
    this.#ready = []
    return creates
  }

  #isolate (id: bigint): void {
    this.#isolatedIds.add(id)
    const [oldest = id] = this.#isolatedIds
    if (this.#isolatedIds.size > ISOLATED_IDS) this.#isolatedIds.delete(oldest)
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
    this.#ready.push(...this.#suspects.splice(0, PROBES_AT_ONCE))
    if (this.#suspects.length > 0) this.#startProbeTimer()
    this.#send()
  }

  #jittered (backoff: number): number {
    return backoff * (0.5 + this.#random() / 2)
  }
}
