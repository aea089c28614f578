/** The limit that a request would exceed. */
export type Exceeded = 'bodyLimit' | 'queueLimit' | 'queueBytes'

/**
 * Bounds what the create requests of one registration of the plugin hold at once, in count and in bytes. Bodies count
 * as they were sent: strings that are not Latin-1 take twice as much, and a batch on its way to the store is a copy.
 */
export class PendingLimits {
  /** Create requests from the first byte of the body to the response, and until the store has settled the plant. */
  pending = 0
  /** Bytes of their bodies. */
  bytes = 0

  constructor (private readonly limits: Readonly<Record<Exceeded, number>>) {}

  /** @returns the limit that a further request with a body of so many bytes would exceed, if any */
  exceededBy (bytes: number): Exceeded | undefined {
    if (bytes <= this.limits.bodyLimit && this.pending >= this.limits.queueLimit) return 'queueLimit'
    return this.exceededByMore(bytes, bytes)
  }

  /**
   * @param more further bytes of a request that is pending already
   * @param total bytes of its body so far
   */
  exceededByMore (more: number, total: number): Exceeded | undefined {
    if (total > this.limits.bodyLimit) return 'bodyLimit'
    return this.bytes + more > this.limits.queueBytes ? 'queueBytes' : undefined
  }
}
