import type { Socket } from 'node:net'
import type { onSendHookHandler } from 'fastify'
import { ApiError } from '../api-error.js'
import { systemClock, type Clock } from '../clock.js'

/** The decorator of a request that holds its `PendingRequest`. */
export const PENDING = 'plantStorePending'

/** Milliseconds between two looks at the deadlines: a timer for each takes 4 % of the time of a create request. */
const TICK_MS = 20

interface Limits { readonly queueLimit: number, readonly queueBytes: number }

/**
 * The create requests of one registration of the plugin, which are bounded in number and in bytes, and whose deadlines
 * are watched by one timer: a deadline expires up to 20 ms early, never late.
 */
export class PendingRequests {
  /** Bytes of their bodies, as they were sent. */
  bytes = 0
  /** In no order. Not a Set, which would keep dead requests until a full garbage collection: 20 % of the throughput. */
  readonly #counted: PendingRequest[] = []
  #timer: object | undefined

  constructor (private readonly limits: Limits, private readonly clock: Clock = systemClock) {}

  /** Create requests from the body to the response, and until the store has settled the plant. */
  get pending (): number {
    return this.#counted.length
  }

  /** The last `onSend` hook of the route. */
  readonly endRequest: onSendHookHandler = (request, _reply, _payload, done) => {
    request.getDecorator<PendingRequest | null>(PENDING)?.end()
    done()
  }

  /** @returns the error of a request that may not hold so many further bytes */
  refusalOf (request: PendingRequest, bytes: number): ApiError | undefined {
    const isFull = request.place < 0 && this.pending >= this.limits.queueLimit
    if (isFull) return notStored('Too many create requests are pending')
    return this.bytes + bytes > this.limits.queueBytes ? notStored('The pending create requests are too large') : undefined
  }

  add (request: PendingRequest): void {
    request.place = this.#counted.push(request) - 1
    this.#timer ??= this.clock.setTimeout(this.#look, TICK_MS)
  }

  /** Deletes a request: the last one takes its place. */
  delete (request: PendingRequest): void {
    const last = this.#counted.pop() as PendingRequest
    if (last !== request) this.#counted[request.place] = last
    last.place = request.place
    request.place = -1
  }

  readonly #look = (): void => {
    const soon = this.clock.now() + TICK_MS
    for (const request of [...this.#counted]) {
      if (request.deadline <= soon) request.expire()
      // On Node 20 and 22, a response that waits for its turn emits no `close` when its connection closes.
      if (request.connection?.destroyed === true) request.end()
    }
    this.#timer = this.pending > 0 ? this.clock.setTimeout(this.#look, TICK_MS) : undefined
  }
}

/** What one request holds of the limits, whatever waits meanwhile, hooks of the host too. */
export class PendingRequest {
  /** Its place among those that count; negative if it does not. */
  place = -1
  deadline = Infinity
  #onTimeout = (): void => {}
  #bytes = 0
  #isOver = false
  #isInStore = false

  /** @param connection none if a request does not come over one, as in an adapter for AWS Lambda */
  constructor (private readonly all: PendingRequests, readonly connection?: Socket) {}

  /** @returns the error of a request for whose body there is no room */
  refusalOf (bytes: number): ApiError | undefined {
    return this.all.refusalOf(this, bytes)
  }

  /**
   * Counts further bytes, unless it returns the error to send instead.
   * @param expected bytes that there must be room for
   */
  hold (bytes: number, expected = bytes): ApiError | undefined {
    const refusal = this.#isOver ? notStored('The client has left') : this.all.refusalOf(this, expected)
    if (refusal !== undefined) return refusal
    if (this.place < 0) this.all.add(this)
    this.#bytes += bytes
    this.all.bytes += bytes
    return undefined
  }

  enterStore (deadline: number, onTimeout: () => void): ApiError | undefined {
    const refusal = this.hold(0)
    if (refusal !== undefined) return refusal
    this.#isInStore = true
    this.deadline = deadline
    this.#onTimeout = onTimeout
    return undefined
  }

  expire (): void {
    this.deadline = Infinity
    this.#onTimeout()
  }

  /** The store has settled the plant: until then it counts, since a store that hangs must not accumulate more. */
  leaveStore (): void {
    this.deadline = Infinity
    this.#isInStore = false
    if (this.#isOver) this.#release()
  }

  /** The response is complete, or the client has left. */
  end (): void {
    this.#isOver = true
    if (!this.#isInStore) this.#release()
  }

  #release (): void {
    if (this.place < 0) return
    this.all.delete(this)
    this.all.bytes -= this.#bytes
  }
}

function notStored (fault: string): ApiError {
  return new ApiError('notStored', `${fault}; this request did not store the plant: retry later`)
}
