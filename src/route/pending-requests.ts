import type { FastifyReply, onSendHookHandler } from 'fastify'
import { ApiError } from '../api-error.js'
import { systemClock, type Clock } from '../clock.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until the plugin's hook has accepted the headers. */
    plantStorePending: PendingRequest | null
  }
}

/**
 * Milliseconds between two looks at all requests. For each request, a timer takes 4 % of the processor time of a create
 * request, and a listener for the end of its response 1 %.
 */
const TICK_MS = 20

interface Limits { readonly queueLimit: number, readonly queueBytes: number }

/**
 * The create requests of one registration of the plugin, which are bounded in number and in bytes. One timer looks at
 * their deadlines, which expire up to 20 ms early, never late, and at whether their clients have left.
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
    request.plantStorePending?.end()
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
      if (request.isResponseOver()) request.end()
    }
    this.#timer = this.pending > 0 ? this.clock.setTimeout(this.#look, TICK_MS) : undefined
  }
}

/** What one request holds of the limits, whatever waits meanwhile, hooks of the host too. */
export class PendingRequest {
  /** Its place among those that count; negative if it does not. */
  place = -1
  deadline = Infinity
  readonly #all: PendingRequests
  readonly #response: FastifyReply['raw']
  /** Of HTTP/2, the stream. There is none in an adapter for AWS Lambda. */
  readonly #connection: { readonly destroyed: boolean } | undefined
  #onTimeout = (): void => {}
  #bytes = 0
  #isOver = false
  #isInStore = false

  constructor (all: PendingRequests, { raw, request }: Pick<FastifyReply, 'raw' | 'request'>) {
    this.#all = all
    this.#response = raw
    this.#connection = request.raw.socket
  }

  /** Whether the response is complete, by whomever it was sent, or the client has left. */
  isResponseOver (): boolean {
    // Not `destroyed` of the response: on Node 20 and 22, one that waits for its turn is not destroyed.
    return this.#response.writableEnded || this.#connection?.destroyed === true
  }

  /** @returns the error of a request for whose body there is no room */
  refusalOf (bytes: number): ApiError | undefined {
    return this.#all.refusalOf(this, bytes)
  }

  /**
   * Counts further bytes, unless it returns the error to send instead.
   * @param expected bytes that there must be room for
   */
  hold (bytes: number, expected = bytes): ApiError | undefined {
    const refusal = this.#isOver ? notStored('The client has left') : this.#all.refusalOf(this, expected)
    if (refusal !== undefined) return refusal
    if (this.place < 0) this.#all.add(this)
    this.#bytes += bytes
    this.#all.bytes += bytes
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
    this.#all.delete(this)
    this.#all.bytes -= this.#bytes
  }
}

function notStored (fault: string): ApiError {
  return new ApiError('notStored', `${fault}; this request did not store the plant: retry later`)
}
