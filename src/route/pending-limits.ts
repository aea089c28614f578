import type { Socket } from 'node:net'
import type { FastifyReply, onRequestHookHandler } from 'fastify'
import { ApiError } from './errors.js'
import { watchRest } from './rest-of-body.js'

/** The decorator of a request that holds its `PendingRequest`. */
export const PENDING = 'plantStorePending'
/** Bytes that each further chunk of a body takes in addition to its own. */
const CHUNK_BYTES = 512

/**
 * Bounds what the create requests of one registration of the plugin hold at once, in count and in bytes. Bodies count
 * as they were sent: strings that are not Latin-1 take twice as much, and a batch on its way to the store is a copy.
 */
export class PendingLimits {
  /** Create requests from the first byte of the body to the response, and until the store has settled the plant. */
  pending = 0
  /** Bytes of their bodies. */
  bytes = 0

  constructor (private readonly limits: Readonly<Record<'bodyLimit' | 'queueLimit' | 'queueBytes', number>>) {}

  /** @returns the response to a further request if there is no room for it and its bytes, otherwise undefined */
  refusalFor (bytes: number): ApiError | undefined {
    if (this.pending >= this.limits.queueLimit) return refusal('Too many create requests are pending')
    return this.refusalForMore(bytes, bytes)
  }

  /**
   * @param more further bytes of a request that is pending already
   * @param total bytes of its body so far
   */
  refusalForMore (more: number, total: number): ApiError | undefined {
    if (total > this.limits.bodyLimit) return new ApiError('bodyTooLarge')
    const isExceeded = this.bytes + more > this.limits.queueBytes
    return isExceeded ? refusal('The pending create requests are too large') : undefined
  }
}

function refusal (fault: string): ApiError {
  return new ApiError('notStored', `${fault}; this request did not store the plant: retry later`)
}

/**
 * What one request holds of the limits: from the first byte of its body until it has its response, or its client has
 * left, and the store has settled its plant. Whatever waits in between, hooks of the host too, holds no more.
 */
export class PendingRequest {
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

  /** @returns the response if there is no room for the chunk */
  add (chunk: Buffer): ApiError | undefined {
    // Of a client that has left, nothing is kept.
    if (this.isOver) return undefined
    this.#received += chunk.length
    const size = this.#isHeld ? chunk.length + CHUNK_BYTES : chunk.length
    const { limits } = this
    const error = this.#isHeld ? limits.refusalForMore(size, this.#received) : limits.refusalFor(size)
    if (error !== undefined) return error
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

  /** @returns the response, if the client has left meanwhile, so that nothing is held, and there is no room again */
  enterStore (): ApiError | undefined {
    const error = this.#isHeld ? undefined : this.limits.refusalFor(this.#bytes)
    if (error !== undefined) return error
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

/** Of each connection, its pipelined requests. */
const pipelined = new WeakMap<Socket, Set<PendingRequest>>()

/** Makes the `onRequest` hook that gives each request its `PendingRequest`, which ends with it, however that ends. */
export function pendingRequests (limits: PendingLimits): onRequestHookHandler {
  return function expectBody ({ raw }, reply, done) {
    const pending = new PendingRequest(limits, reply)
    reply.request.setDecorator(PENDING, pending)
    // On Node 20 and 22, a response that waits for its turn emits no `close` if the connection closes.
    const connection = reply.raw.socket === null ? raw.socket : undefined
    if (connection !== undefined) endWith(connection, pending)
    reply.raw.on('close', () => {
      pending.end()
      if (connection !== undefined) pipelined.get(connection)?.delete(pending)
      if (!raw.readableEnded) watchRest(raw)
    })
    done()
  }
}

/** One listener serves all requests of a connection: of more than ten, Node would warn. */
function endWith (connection: Socket, pending: PendingRequest): void {
  let requests = pipelined.get(connection)
  if (requests === undefined) {
    const all = requests = new Set()
    pipelined.set(connection, all)
    connection.once('close', () => { for (const request of all) request.end() })
  }
  requests.add(pending)
}
