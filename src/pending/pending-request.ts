import type { FastifyReply } from 'fastify'
import type { Bagged } from './bag.js'

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

  /** @param limits may change until the app is ready: a host can set the route's `bodyLimit` */
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

/** Bytes that each further chunk of a body takes in addition to its own. */
const CHUNK_BYTES = 512

/**
 * What one request holds of the limits: from the first byte of its body until it has its response, or its client has
 * left, and the store has settled its plant. Whatever waits in between, hooks of the host too, holds no more.
 */
export class PendingRequest implements Bagged {
  place = 0
  /** Whether its response is complete, or its client has left. */
  isOver = false
  /** Whether the connection may be used again after a refused body. Otherwise Fastify closes it. */
  keepsConnection = false
  #chunks: Buffer[] = []
  #received = 0
  #bytes = 0
  #isHeld = false
  #isInStore = false

  constructor (private readonly limits: PendingLimits, readonly reply?: FastifyReply) {}

  /** @returns the limit that the chunk exceeds, if any */
  add (chunk: Buffer): Exceeded | undefined {
    // Of a client that has left, nothing is kept.
    if (this.isOver) return undefined
    this.#received += chunk.length
    const size = this.#isHeld ? chunk.length + CHUNK_BYTES : chunk.length
    const { limits } = this
    const exceeded = this.#isHeld ? limits.exceededByMore(size, this.#received) : limits.exceededBy(size)
    if (exceeded !== undefined) return exceeded
    this.#hold()
    this.#chunks.push(chunk)
    this.#count(size)
    return undefined
  }

  /** @returns the whole body, which is not kept here */
  takeBody (): Buffer {
    const chunks = this.#chunks
    this.#chunks = []
    this.#count(this.#received - this.#bytes)
    return chunks.length === 1 ? chunks[0] as Buffer : Buffer.concat(chunks)
  }

  /** @returns the limit that it exceeds, if nothing of it is held any more, since its client has left */
  enterStore (): Exceeded | undefined {
    const exceeded = this.#isHeld ? undefined : this.limits.exceededBy(this.#bytes)
    if (exceeded !== undefined) return exceeded
    this.#hold()
    this.#isInStore = true
    return undefined
  }

  /** The store has settled the plant: until then it counts, since a store that hangs must not accumulate more. */
  leaveStore (): void {
    this.#isInStore = false
    if (this.isOver) this.giveBack()
  }

  /** The response is complete, or the client has left. */
  end (): void {
    this.isOver = true
    if (!this.#isInStore) this.giveBack()
  }

  giveBack (): void {
    this.#chunks = []
    if (!this.#isHeld) return
    this.#isHeld = false
    this.limits.pending--
    this.limits.bytes -= this.#bytes
  }

  #hold (): void {
    if (this.#isHeld) return
    this.#isHeld = true
    this.limits.pending++
    this.limits.bytes += this.#bytes
  }

  #count (bytes: number): void {
    this.#bytes += bytes
    if (this.#isHeld) this.limits.bytes += bytes
  }
}
