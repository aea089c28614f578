import { systemClock, type Clock } from '../../clock.js'
import { PlantNotStored, StoreUnusable, type CreateOutcome, type NewPlant, type PlantStore } from '../plant-store.js'
import type { BatchWriter, CreateFailure, WriteResult } from './batch-writer.js'
import { SharedWrites } from './shared-writes.js'

/** A writer of batches with the resources it needs. */
export interface StoreWriter extends BatchWriter {
  /**
   * Prepares for the first write. Temporary faults, such as a lock, do not fail it: each create request waits for them.
   * @throws {StoreUnusable} if no later attempt can succeed
   */
  open? (): Promise<void>
  /**
   * Resolves if a write would be possible now; otherwise rejects with the reason.
   * @param thoroughly whether to test an actual write, as after a failed one
   */
  check (thoroughly: boolean): Promise<void>
  /** Releases all resources; nothing is written afterwards. */
  close (): Promise<void>
}

/**
 * Milliseconds for which the store is not ready after a failed write, unless another succeeds. Then a check decides,
 * since a load balancer sends no write to a service that is not ready.
 */
const FAILURE_HOLD_MS = 1_000

/** A plant store whose pending requests share batches. It can be opened once, and stays closed once closed. */
export class BatchedPlantStore implements PlantStore {
  readonly #writer: StoreWriter
  readonly #writes: SharedWrites
  readonly #clock: Clock
  #state: 'new' | 'open' | 'closed' = 'new'
  /** Why the last write failed; undefined if it succeeded. */
  #failure: CreateFailure | undefined
  #failedAt = 0

  constructor (writer: StoreWriter, clock: Clock = systemClock, random: () => number = Math.random) {
    this.#writer = writer
    this.#clock = clock
    this.#writes = new SharedWrites({ maxInFlight: writer.maxInFlight, write: this.#write }, clock, random)
  }

  async open (): Promise<boolean> {
    if (this.#state === 'closed') throw new StoreUnusable('the store was closed: make a new one')
    if (this.#state === 'open') return false
    this.#state = 'open'
    try {
      await this.#writer.open?.()
    } catch (error) {
      // It may have been closed meanwhile.
      if (this.#state === 'open') this.#state = 'new'
      throw error
    }
    return true
  }

  create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
    return this.#writes.create(plant, deadline)
  }

  async ready (): Promise<void> {
    if (this.#state === 'closed') throw new Error('the store is closed')
    const failure = this.#failure
    if (failure !== undefined && this.#clock.now() - this.#failedAt < FAILURE_HOLD_MS) throw failure
    await this.#writer.check(failure !== undefined)
    if (this.#failure === failure) this.#failure = undefined
  }

  async close (): Promise<void> {
    this.#state = 'closed'
    await this.#writes.close()
    await this.#writer.close()
  }

  readonly #write: BatchWriter['write'] = async (...batch) => {
    const results = await this.#writer.write(...batch)
    this.#failure = failureOf(results)
    if (this.#failure !== undefined) this.#failedAt = this.#clock.now()
    return results
  }
}

/** Why a write failed; undefined if it stored or found a plant, or refused each plant for a reason of its own. */
function failureOf (results: readonly WriteResult[] | CreateFailure): CreateFailure | undefined {
  if (results instanceof Error) return results
  let failure: CreateFailure | undefined
  for (const result of results) {
    if (typeof result === 'string') return undefined
    if (!(result instanceof PlantNotStored && result.permanent)) failure = result
  }
  return failure
}
