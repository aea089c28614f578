import type { CreateQueue } from './pending-limits.js'
import { ApiError } from './errors.js'
import type { PlantRequest } from './plant-request.js'

/** Completes the reading, as a content type parser of Fastify does. */
export type Done = (error: Error | null, body?: unknown) => void

const NOTHING = Buffer.alloc(0)
const SMALLEST_BUFFER = 1_024

/**
 * A body being received. A body in one chunk is kept as it is; chunks of a larger body are copied into one buffer,
 * since each Buffer takes some 500 bytes of its own. Memory is allocated as bytes arrive, not by the announced length.
 */
export class IncomingBody {
  received = 0
  #buffer: Buffer = NOTHING
  /** Bytes of `queue.bytes` that this body accounts for. */
  #held = 0

  /** @param announced the Content-Length; infinite if it is unknown */
  constructor (
    readonly request: PlantRequest, readonly done: Done,
    private readonly queue: CreateQueue, private readonly limit: number, private readonly announced: number
  ) {}

  /** Whether all announced bytes have been received. */
  get isComplete (): boolean {
    return this.received === this.announced
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
    if (end > this.limit) return new ApiError('bodyTooLarge')
    if (end > this.#buffer.length) {
      const grown = Math.max(2 * this.#buffer.length, SMALLEST_BUFFER)
      const size = Math.max(end, Math.min(grown, this.limit, this.announced))
      const refusal = this.queue.refusal(size - this.#held)
      if (refusal !== undefined) return refusal
      this.queue.bytes += size - this.#held
      this.#held = size
      const larger = Buffer.allocUnsafeSlow(size)
      larger.set(this.#buffer.subarray(0, start))
      this.#buffer = larger
    }
    this.#buffer.set(chunk, start)
    return undefined
  }

  /** What was received; undefined if that is nothing. */
  get content (): Buffer | undefined {
    if (this.received === 0) return undefined
    return this.#buffer.length === this.received ? this.#buffer : this.#buffer.subarray(0, this.received)
  }

  /** Releases the buffer. */
  release (): void {
    this.queue.bytes -= this.#held
    this.#held = 0
    this.#buffer = NOTHING
  }
}
