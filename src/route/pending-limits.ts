import { ApiError } from './errors.js'

/** The decorator of a request that holds the size of its body in bytes. */
export const BODY_BYTES = 'plantStoreBodyBytes'
/** What each further chunk of a body takes in addition to its bytes. */
export const CHUNK_BYTES = 512

/**
 * Bounds what the create requests of one registration of the plugin hold at once, in count and in bytes. Bodies count
 * as they were sent: strings that are not Latin-1 take twice as much, and a batch on its way to the store is a copy.
 */
export class PendingLimits {
  /** Create requests pending in the store. */
  pending = 0
  /** Bytes of bodies being received or pending in the store. */
  bytes = 0

  constructor (private readonly limits: Readonly<Record<'bodyLimit' | 'queueLimit' | 'queueBytes', number>>) {}

  /**
   * @param size bytes of the whole body, as far as it is known
   * @returns the response to a create request if there is no room for so many more bytes, otherwise undefined
   */
  exceededBy (more: number, size = more): ApiError | undefined {
    const { bodyLimit, queueLimit, queueBytes } = this.limits
    if (size > bodyLimit) return new ApiError('bodyTooLarge')
    const areTooLarge = this.bytes + more > queueBytes && 'The pending create requests are too large'
    const fault = this.pending >= queueLimit ? 'Too many create requests are pending' : areTooLarge
    return fault ? new ApiError('notStored', `${fault}; this request did not store the plant: retry later`) : undefined
  }
}
