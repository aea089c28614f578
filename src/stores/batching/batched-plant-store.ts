import { systemClock, type Clock } from '../../clock.js'
import { StoreUnusable, type CreateOutcome, type NewPlant, type PlantStore } from '../../plant-store.js'
import { BatchQueue } from './batch-queue.js'
import type { StoreWriter } from './store-writer.js'

/**
 * Milliseconds for which the store is not ready after a failed write, unless another succeeds. Then a check decides,
 * since a load balancer sends no write to a service that is not ready.
 */
const FAILURE_HOLD_MS = 1_000

/** A plant store whose pending requests share batches. It can be opened once, and stays closed once closed. */
export class BatchedPlantStore implements PlantStore {
  readonly #writer: StoreWriter
  readonly #queue: BatchQueue
  readonly #clock: Clock
  #state: 'new' | 'open' | 'closed' = 'new'

  constructor (writer: StoreWriter, clock: Clock = systemClock, random: () => number = Math.random) {
    this.#writer = writer
    this.#queue = new BatchQueue(writer, clock, random)
    this.#clock = clock
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
    return this.#queue.create(plant, deadline)
  }

  async ready (): Promise<void> {
    if (this.#state === 'closed') throw new Error('the store is closed')
    const { failure, failedAt } = this.#queue
    if (failure !== undefined && this.#clock.now() - failedAt < FAILURE_HOLD_MS) throw failure
    await this.#writer.check(failure !== undefined)
    if (this.#queue.failure === failure) this.#queue.failure = undefined
  }

  async close (): Promise<void> {
    this.#state = 'closed'
    await this.#queue.close()
    await this.#writer.close()
  }
}
