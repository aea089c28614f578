import type { IncomingMessage } from 'node:http'
import type { FastifyReply, preValidationHookHandler } from 'fastify'
import { ApiError } from './api-error.js'

type Done = (error?: Error) => void

/** A body on its way. Kept on its raw request, so that the listeners are two functions for all requests. */
class IncomingBody {
  received = 0
  first: Buffer | undefined = undefined
  chunks: Buffer[] | undefined = undefined
  constructor (readonly reply: FastifyReply, readonly limit: number, readonly parse: BodyParser, readonly done: Done) {}
}
const incoming = Symbol('plant-store.incomingBody')
type RawRequest = IncomingMessage & { [incoming]: IncomingBody }

/**
 * Makes a body of its bytes.
 * @throws {ApiError} where it cannot
 */
export type BodyParser = (bytes: Buffer) => unknown

// RFC 9110, section 8.3.1: case-insensitive, white space before the semicolon; whatever the parameters say, JSON is UTF-8.
const json = /^application\/json[\t ]*(?:;|$)/i

/**
 * Makes the hook that reads and parses a JSON body of `limit` bytes at most.
 *
 * It stands in for Fastify's content type parsers, which make an AsyncResource, five closures and six listeners for each
 * body and copy it: without them a create took 6 % less processor time (35.7 against 37.8 µs).
 */
export function bodyReader (limit: number, parse: BodyParser): preValidationHookHandler {
  return function readBody (request, reply, done) {
    const raw = request.raw as RawRequest
    const { headers } = raw
    const length = Number(headers['content-length'] ?? 0)
    const type = headers['content-type']
    if (type === undefined && length === 0 && headers['transfer-encoding'] === undefined) return done(new ApiError('bodyMissing'))
    if (type !== 'application/json' && !json.test(type ?? '')) return done(new ApiError('mediaTypeUnsupported'))
    if (headers['content-encoding'] !== undefined) return done(new ApiError('mediaTypeUnsupported'))
    if (length > limit) return done(tooLarge(reply))

    raw[incoming] = new IncomingBody(reply, limit, parse, done)
    raw.on('data', onData)
    raw.on('end', onEnd)
  }
}

/** The rest of the body is not waited for. HTTP/2 ends the one stream, and knows no such header. */
function tooLarge (reply: FastifyReply): ApiError {
  if (reply.request.raw.httpVersionMajor === 1) reply.header('connection', 'close')
  return new ApiError('bodyTooLarge')
}

function onData (this: RawRequest, chunk: Buffer): void {
  const body = this[incoming]
  body.received += chunk.length
  if (body.received > body.limit) {
    this.off('data', onData)
    this.off('end', onEnd)
    body.done(tooLarge(body.reply))
  } else if (body.first === undefined) {
    body.first = chunk
  } else {
    body.chunks ??= [body.first]
    body.chunks.push(chunk)
  }
}

function onEnd (this: RawRequest): void {
  const { first, chunks, reply, parse, done } = this[incoming]
  if (first === undefined) return done(new ApiError('bodyMissing'))
  try {
    reply.request.body = parse(chunks === undefined ? first : Buffer.concat(chunks))
  } catch (error) {
    return done(error as Error)
  }
  done()
}
