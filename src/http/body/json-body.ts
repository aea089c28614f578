import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import secureJson from 'secure-json-parse'
import { messageOf } from '../../error-message.js'
import type { CreateQueue } from '../create-queue.js'
import { ApiError } from '../error-codes.js'
import { IncomingBody } from './incoming-body.js'
import { exactId } from './exact-id.js'

/** Why a body was refused. It is kept on the request until the host's preValidation hooks have run. */
export const refusal = Symbol('plant-store.refusal')
/** The size of the body in bytes. */
export const bodyBytes = Symbol('plant-store.bodyBytes')
export type ParsedRequest = FastifyRequest & { [refusal]?: Error, [bodyBytes]?: number }

type Done = (error: Error | null, body?: unknown) => void

/** The state of reading a body. It is kept on the stream, so that all requests share the same listener functions. */
interface Reading {
  readonly body: IncomingBody
  readonly request: ParsedRequest
  readonly done: Done
}
const reading = Symbol('plant-store.reading')
type BodyStream = IncomingMessage & { [reading]?: Reading | undefined }

// RFC 9110, section 8.3.1: case-insensitive, white space before the semicolon. Parameters are ignored: JSON is UTF-8.
const json = /^application\/json[\t ]*(?:;|$)/i

/**
 * Makes the content type parser for every media type: it reads and parses a JSON body of at most `limit` bytes.
 *
 * It reads the stream itself because Fastify's own reading (`parseAs`) makes closures and listeners for each body and
 * copies it, 11 % of the processor time of a create request. A refused body is not an error to Fastify, which would
 * close the connection even of a client that has sent the whole body.
 */
export function jsonBodyParser (limit: number, queue: CreateQueue) {
  return function parseJsonBody (request: ParsedRequest, payload: BodyStream, done: Done): void {
    const { headers } = request.raw
    const length = Number(headers['content-length']) || 0
    const error = mediaTypeError(headers) ?? (length > limit ? new ApiError('bodyTooLarge') : queue.refusal(length))
    if (error !== undefined) return refuse(request, error, done)

    // A stream that a preParsing hook of the host returned may have another length.
    const announced = headers['content-length'] !== undefined && payload === request.raw ? length : Infinity
    payload[reading] = { body: new IncomingBody(queue, limit, announced), request, done }
    payload.on('data', onData)
    payload.on('end', onEnd)
    if (payload === request.raw) return
    payload.on('error', (fault: Error & { statusCode?: unknown }) => {
      if (!settle(payload)) return
      // As in Fastify, which keeps a status of the stream's own.
      if (!(Number(fault.statusCode) >= 400)) fault.statusCode = 400
      done(fault)
    })
    // A stream into which the request is piped does not close with it.
    request.raw.on('close', () => { if (!request.raw.readableEnded) settle(payload) })
  }
}

function mediaTypeError (headers: IncomingHttpHeaders): ApiError | undefined {
  const type = headers['content-type']
  if (json.test(type ?? '') && headers['content-encoding'] === undefined) return undefined
  return new ApiError('mediaTypeUnsupported')
}

function refuse (request: ParsedRequest, error: Error, done: Done): void {
  request[refusal] = error
  done(null)
}

function onData (this: BodyStream, data: Buffer | string): void {
  if (this[reading] === undefined) return
  const { body, request, done } = this[reading]
  const chunk = typeof data === 'string' ? Buffer.from(data) : data
  // Closed before its end if the client disconnects.
  if (body.received === 0 && !body.isWhole(chunk)) this.on('close', onClose)
  const error = body.append(chunk)
  if (error === undefined) return
  settle(this)
  refuse(request, error, done)
}

function onClose (this: BodyStream): void {
  settle(this)
}

/** Ends the reading of a body, and releases it; returns false if it had ended before. */
function settle (payload: BodyStream): boolean {
  const current = payload[reading]
  current?.body.release()
  payload[reading] = undefined
  return current !== undefined
}

function onEnd (this: BodyStream): void {
  if (this[reading] === undefined) return
  const { body: { content, received }, request, done } = this[reading]
  settle(this)
  request[bodyBytes] = received
  let parsed
  try {
    parsed = content && parseBody(content)
  } catch (error) {
    return refuse(request, error as Error, done)
  }
  done(null, parsed)
}

/**
 * Parses a JSON body (RFC 8259) without losing anything. Bytes that are not UTF-8 are refused, not replaced; poisoned
 * keys (`__proto__`, `constructor.prototype`) are refused; an integer `id` becomes a bigint, exact to the last digit.
 * An `id` that is not an integer is left unchanged, for the validator to refuse.
 * @throws {ApiError} `bodyNotJson`
 */
export function parseBody (bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError('bodyNotJson', 'The body is not well-formed UTF-8: send JSON in UTF-8')

  const text = bytes.toString()
  let body
  try {
    body = secureJson.parse(text)
  } catch (error) {
    throw new ApiError('bodyNotJson', `The body is not acceptable JSON: ${messageOf(error)}`)
  }
  if (body !== null && typeof body.id === 'number') body.id = exactId(body.id, text)
  return body
}
