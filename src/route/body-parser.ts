import type { Readable } from 'node:stream'
import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { ApiError } from '../api-error.js'
import { parseExactJson } from '../exact-json.js'
import { PendingRequest, type PendingRequests } from './pending-requests.js'

/** Bytes that each further chunk of a body takes in addition to its own. */
const CHUNK_BYTES = 512

/**
 * Makes the last `onRequest` hook of the route, which refuses a body by its headers. As after a 401, Node then discards
 * the body, so that a client that is still sending it gets the response, and can use the connection again.
 */
export function checkHeaders (all: PendingRequests, bodyLimit: number): onRequestHookHandler {
  return function checkHeaders (request, reply, done) {
    const pending = new PendingRequest(all, reply)
    request.plantStorePending = pending
    const { 'content-length': contentLength, 'transfer-encoding': coding } = request.headers
    const length = Number(contentLength) || 0
    if (length === 0 && coding === undefined) return done()
    const isEncoded = coding !== undefined && coding.toLowerCase() !== 'chunked'
    if (isEncoded || request.mediaType !== 'application/json') return done(new ApiError('mediaTypeUnsupported'))
    if (length > bodyLimit) return done(new ApiError('bodyTooLarge'))
    done(pending.refusalOf(length))
  }
}

/**
 * Makes the parser of JSON bodies. Unlike Fastify's `parseAs`, it counts the bytes of all bodies as they arrive. After
 * an error, Fastify closes the connection.
 */
export function bodyParser (bodyLimit: number) {
  return function parseBody (
    request: FastifyRequest, payload: Readable, done: (error: Error | null, body?: unknown) => void
  ): void {
    const pending = request.plantStorePending as PendingRequest
    const chunks: Buffer[] = []
    let received = 0
    let isDone = false

    function end (error: Error | null, body?: unknown): void {
      if (isDone) return
      isDone = true
      payload.off('data', add)
      done(error, body)
    }

    function add (data: Buffer | string): void {
      // What a preParsing hook of the host returns may be a stream of strings, or of objects.
      const chunk = typeof data === 'string' ? Buffer.from(data) : data
      if (!Buffer.isBuffer(chunk)) return fail()
      received += chunk.length
      if (received > bodyLimit) return end(new ApiError('bodyTooLarge'))
      const isFirst = chunks.push(chunk) === 1
      const refusal = pending.hold(isFirst ? chunk.length : chunk.length + CHUNK_BYTES)
      if (refusal !== undefined) end(refusal)
    }

    function parse (): void {
      let body
      try {
        body = parseExactJson(chunks.length === 1 ? chunks[0] as Buffer : Buffer.concat(chunks))
      } catch (error) {
        return end(error as Error)
      }
      end(null, body)
    }

    function fail (): void {
      end(unreadable('could not be read: send the request again'))
    }

    // The client has left, or a stream of the host's fails; that may do so when it is refused already.
    payload.on('error', fail)
    // For each request, it would take 5 % of the processor time.
    if (payload !== request.raw) payload.on('close', fail)
    // Of these, no event will follow.
    if (payload.readableEnded) return end(unreadable('was read before the plugin: see "Serverless" in docs/embedding.md'))
    if (payload.destroyed) return fail()
    const refusal = refusalOf(request, payload, pending)
    if (refusal !== undefined) return end(refusal)
    payload.on('data', add).on('end', parse).resume()
  }
}

/** Why a body is refused before it is read: what the headers say of it is true only if no hook has decoded it. */
function refusalOf (
  { headers, raw }: FastifyRequest, payload: Readable, pending: PendingRequest
): ApiError | undefined {
  if (payload !== raw) return pending.hold(0)
  if (!/^(?:identity)?$/i.test(headers['content-encoding'] ?? '')) return new ApiError('mediaTypeUnsupported')
  return pending.hold(0, Number(headers['content-length']) || 0)
}

function unreadable (fault: string): ApiError {
  return new ApiError('bodyMissing', `The body ${fault}`)
}
