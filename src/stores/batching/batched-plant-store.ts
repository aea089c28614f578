import { systemClock, type Clock } from '../../clock.js'
import type { NewPlant } from '../../plant.js'
import { DEFAULT_TIMEOUT_MS, StoreUnusable, type CreateOutcome, type PlantStore } from '../store.js'
import { BatchQueue } from './batch-queue.js'
import type { StoreWriter } from './store-writer.js'

/** For this long a failed write alone decides: a check may pass where the next write fails, as on a full disk. */
const FAILURE_HOLD_MS = 1_000
/** The longest wait for a check, in milliseconds; MongoDB's ends earlier by itself, with each server and its error. */
const CHECK_TIMEOUT_MS = 6_000

/** A plant store whose pending requests share batches. */
export class BatchedPlantStore implements PlantStore {
  readonly #queue: BatchQueue
  #isOpen = false
  #check: Promise<void> | undefined

  constructor (
    private readonly writer: StoreWriter, private readonly clock: Clock = systemClock, random = Math.random
  ) {
    this.#queue = new BatchQueue(writer, clock, random)
  }

  async open (): Promise<boolean> {
    if (this.#queue.isClosed) throw new StoreUnusable('the store was closed: make a new one')
    await this.writer.open?.()
    const opens = !this.#isOpen
    this.#isOpen = true
    return opens
  }

  create (plant: NewPlant, deadline = this.clock.now() + DEFAULT_TIMEOUT_MS): Promise<CreateOutcome> {
    return this.#queue.create(plant, deadline)
  }

  /** After a failed write, only a write or a thorough check makes the store ready. */
  async ready (): Promise<void> {
    if (this.#queue.isClosed) throw new Error('the store is closed')
    const { state } = this.#queue
    if (state.kind === 'failed' && this.clock.now() < state.at + FAILURE_HOLD_MS) throw state.error
    this.#check ??= this.#startCheck()
    await this.#check
  }

  /** Lasts until the store responds, whoever asks: one that hangs is not asked again. */
  #startCheck (): Promise<void> {
    const response = this.#checkWriter()
    response.catch(() => {}).finally(() => { this.#check = undefined })
    const timeout = new Promise<never>((_resolve, reject) => {
      const late = new Error(`the store did not respond within ${CHECK_TIMEOUT_MS} ms`)
      this.clock.setTimeout(() => { reject(late) }, CHECK_TIMEOUT_MS).unref()
    })
    return Promise.race([response, timeout])
  }

  async #checkWriter (): Promise<void> {
    const { state } = this.#queue
    await this.writer.check(state.kind === 'failed')
    // A write may have failed meanwhile.
    if (this.#queue.state === state) this.#queue.state = { kind: 'works' }
    else if (this.#queue.state.kind === 'failed') throw this.#queue.state.error
  }

  async close (): Promise<void> {
    await this.#queue.close()
    await this.writer.close()
  }
}
