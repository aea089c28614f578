import { ApiError } from './errors.js'

/** As in `PlantStoreOptions`. */
type QueueLimits = Record<'queueLimit' | 'queueBytes', number>

/**
 * The memory that the create requests of one registration of the plugin hold.
 *
 * A body being received counts as the size of its buffer; a pending one, as the bytes that were sent. Its strings take
 * up to twice as much if they are not Latin-1, and a batch on its way to the store is another copy: bodies take at most
 * about four times `queueBytes` of memory.
 */
export class CreateQueue {
  /** Create requests pending in the store. */
  pending = 0
  /** Bytes of bodies. */
  bytes = 0
  readonly #limits: QueueLimits

  constructor (limits: QueueLimits) {
    this.#limits = limits
  }

  /**
   * @returns the response to a create request with a body of this size if there is no room for it, otherwise undefined
   */
  refusal (bytes: number): ApiError | undefined {
    const { queueLimit, queueBytes } = this.#limits
    if (this.pending >= queueLimit) return new ApiError('notStored', 'Too many create requests are pending; this request did not store the plant: retry later')
    if (this.bytes + bytes > queueBytes) return new ApiError('notStored', 'The pending create requests are too large; this request did not store the plant: retry later')
    return undefined
  }
}
