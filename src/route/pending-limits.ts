import { ApiError } from './errors.js'

/** The decorator of a request that holds the size of its body in bytes. */
export const BODY_BYTES = 'plantStoreBodyBytes'
/** What each further chunk of a body takes in addition to its bytes. */
export const CHUNK_BYTES = 512

/** As in `PlantStoreOptions`. */
type Limits = Readonly<Record<'bodyLimit' | 'queueLimit' | 'queueBytes', number>>

/**
 * Bounds what the create requests of one registration of the plugin hold at once, in count and in bytes.
 *
 * A pending body counts as the bytes that were sent. Its strings take up to twice as much if they are not Latin-1, and
 * a batch on its way to the store is another copy: bodies take at most about four times `queueBytes` of memory.
 */
export class PendingLimits {
  /** Create requests pending in the store. */
  pending = 0
  /** Bytes of bodies being received or pending in the store. */
  bytes = 0
  readonly #limits: Limits

  constructor (limits: Limits) {
    this.#limits = limits
  }

  /**
   * @param size bytes of the whole body, as far as it is known
   * @returns the response to a create request if there is no room for so many more bytes, otherwise undefined
   */
  exceededBy (more: number, size = more): ApiError | undefined {
    const { bodyLimit, queueLimit, queueBytes } = this.#limits
    if (size > bodyLimit) return new ApiError('bodyTooLarge')
    if (this.pending >= queueLimit) return new ApiError('notStored', 'Too many create requests are pending; this request did not store the plant: retry later')
    if (this.bytes + more > queueBytes) return new ApiError('notStored', 'The pending create requests are too large; this request did not store the plant: retry later')
    return undefined
  }
}
