import type { CreateQueue } from '../create-queue.js'
import { ApiError } from '../error-codes.js'

const SMALLEST_BUFFER = 1_024

/**
 * A body being received. A body in one chunk is kept as it is; chunks of a larger body are copied into one buffer,
 * since each Buffer takes some 500 bytes of its own. Memory is allocated as bytes arrive, not by the announced length.
 */
export class IncomingBody {
  received = 0
  #buffer: Buffer | undefined
  /** Bytes of `queue.bytes` that this body accounts for. */
  #held = 0
  readonly #queue: CreateQueue
  readonly #limit: number
  /** The Content-Length; infinite if it is unknown. */
  readonly #announced: number

  constructor (queue: CreateQueue, limit: number, announced: number) {
    this.#queue = queue
    this.#limit = limit
    this.#announced = announced
  }

  /** Whether all announced bytes have been received. */
  get isComplete (): boolean {
    return this.received === this.#announced
  }

  /** @returns the refusal, if the body is refused */
  append (chunk: Buffer): ApiError | undefined {
    const start = this.received
    const end = this.received += chunk.length
    if (start === 0 && this.isComplete) {
      // It is parsed in this turn of the event loop, so it is not counted.
      this.#buffer = chunk
      return undefined
    }
    if (end > this.#limit) return new ApiError('bodyTooLarge')
    const { length = 0 } = this.#buffer ?? {}
    if (end > length) {
      const size = Math.max(end, Math.min(Math.max(2 * length, SMALLEST_BUFFER), this.#limit, this.#announced))
      const refusal = this.#queue.refusal(size - length)
      if (refusal !== undefined) return refusal
      this.#queue.bytes += size - length
      this.#held = size
      const larger = Buffer.allocUnsafeSlow(size)
      this.#buffer?.copy(larger, 0, 0, start)
      this.#buffer = larger
    }
    this.#buffer?.set(chunk, start)
    return undefined
  }

  /** What was received; undefined if that is nothing. */
  get content (): Buffer | undefined {
    return this.received === 0 ? undefined : this.#buffer?.subarray(0, this.received)
  }

  /** Releases the buffer. */
  release (): void {
    this.#queue.bytes -= this.#held
    this.#held = 0
    this.#buffer = undefined
  }
}
