import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { CreateQueue } from './pending-limits.js'
import { ApiError } from './errors.js'
import { bodyBytes, refusal, type PlantRequest } from './plant-request.js'
import { IncomingBody, type Done } from './incoming-body.js'
import { parseBody } from './parse-body.js'

/** The body that is being read from a stream. It is kept on the stream, so that all requests share their listeners. */
const incoming = Symbol('plant-store.incomingBody')
type BodyStream = IncomingMessage & { [incoming]?: IncomingBody | undefined }

// RFC 9110, section 8.3.1: case-insensitive, white space before the semicolon. Parameters are ignored: JSON is UTF-8.
const json = /^application\/json[\t ]*(?:;|$)/i

/**
 * Makes the content type parser for every media type: it reads and parses a JSON body of at most `limit` bytes.
 *
 * It reads the stream itself because Fastify's own reading (`parseAs`) makes closures and listeners for each body and
 * copies it, 11 % of the processor time of a create request. A refused body is not an error to Fastify, which would
 * close the connection, and so reset a client that is still sending. Node discards what is not read.
 */
export function bodyParser (limit: number, queue: CreateQueue) {
  return function parse (request: PlantRequest, payload: BodyStream, done: Done): void {
    const { raw } = request
    const length = Number(raw.headers['content-length']) || 0
    const error = mediaTypeError(raw.headers) ??
      (length > limit ? new ApiError('bodyTooLarge') : queue.refusal(length))
    if (error !== undefined) {
      // Node discards only what nothing else reads, such as a stream that a preParsing hook of the host returned.
      if (payload !== raw) payload.on('error', () => {}).resume()
      return refuse(request, error, done)
    }
    // A stream of the host may have another length.
    const announced = payload === raw && raw.headers['content-length'] !== undefined ? length : Infinity
    payload[incoming] = new IncomingBody(request, done, queue, limit, announced)
    payload.on('data', onData).on('end', onEnd)
    if (payload !== raw) watchStream(payload, raw)
  }
}

function mediaTypeError (headers: IncomingHttpHeaders): ApiError | undefined {
  const type = headers['content-type']
  if (json.test(type ?? '') && headers['content-encoding'] === undefined) return undefined
  return new ApiError('mediaTypeUnsupported')
}

function refuse (request: PlantRequest, error: Error, done: Done): void {
  request[refusal] = error
  done(null)
}

function onData (this: BodyStream, data: Buffer | string): void {
  const body = this[incoming]
  if (body === undefined) return
  const isFirst = body.received === 0
  const error = body.append(typeof data === 'string' ? Buffer.from(data) : data)
  // It closes before its end if the client disconnects.
  if (isFirst && !body.isComplete) this.on('close', () => { endReading(this) })
  if (error === undefined) return
  endReading(this)
  refuse(body.request, error, body.done)
}

function onEnd (this: BodyStream): void {
  const content = this[incoming]?.content
  const body = endReading(this)
  if (body === undefined) return
  const { request, done } = body
  request[bodyBytes] = body.received
  let parsed
  try {
    parsed = content && parseBody(content)
  } catch (error) {
    return refuse(request, error as Error, done)
  }
  done(null, parsed)
}

/** Releases the memory of a body; returns undefined if its reading had ended before. */
function endReading (payload: BodyStream): IncomingBody | undefined {
  const body = payload[incoming]
  payload[incoming] = undefined
  body?.release()
  return body
}

/** Also ends the reading of a stream of the host if it fails, or if the request into which it is piped is aborted. */
function watchStream (payload: BodyStream, raw: IncomingMessage): void {
  payload.on('error', (fault: Error & { statusCode?: unknown }) => {
    // As in Fastify, which keeps a status of the stream's own.
    if (!(Number(fault.statusCode) >= 400)) fault.statusCode = 400
    endReading(payload)?.done(fault)
  })
  raw.on('close', () => { if (!raw.readableEnded) endReading(payload) })
}
