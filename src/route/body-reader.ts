import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../api-error.js'
import { messageOf } from '../error-message.js'
import { parseExactJson } from '../exact-json.js'
import type { PendingLimits, PendingRequest } from '../pending/pending-request.js'
import { isRestDiscarded } from '../pending/request-end.js'
import { refusalFor } from './errors.js'
import { PENDING } from './pending-requests.js'

type Done = (error: Error | null, body?: unknown) => void

/**
 * Makes the parser of JSON bodies. Unlike Fastify's `parseAs`, it counts the bytes of all bodies as they arrive. Unless
 * the client has left, it calls back, whatever stream a preParsing hook of the host has made of the body.
 */
export function bodyReader (limits: PendingLimits) {
  return function readBody (request: FastifyRequest, given: Readable | null | undefined, done: Done): void {
    // A preParsing hook may resolve with nothing.
    const payload = given ?? request.raw
    const pending = request.getDecorator<PendingRequest>(PENDING)
    let isComplete = false

    function refuse (error: Error): void {
      if (isComplete || pending.isOver) return
      isComplete = true
      payload.off('data', add).off('end', parse)
      refuseBody(request, payload, error, done)
    }

    function add (data: unknown): void {
      const chunk = typeof data === 'string' ? Buffer.from(data) : data
      if (!Buffer.isBuffer(chunk)) return refuse(unreadable('is not a stream of bytes'))
      const exceeded = pending.add(chunk)
      if (exceeded !== undefined) refuse(refusalFor(exceeded))
    }

    function parse (): void {
      if (isComplete || pending.isOver) return
      let body
      try {
        body = parseExactJson(pending.takeBody())
      } catch (error) {
        return refuse(error as Error)
      }
      isComplete = true
      done(null, body)
    }

    // Otherwise it is a stream that a preParsing hook of the host has returned, decoded and of another length.
    const isRaw = payload === request.raw
    if (!isRaw) {
      payload.on('error', fault => { refuse(streamError(fault)) })
      payload.on('close', () => { if (!hasClientLeft(request)) refuse(unreadable('was closed before its end')) })
    }
    const error = isRaw ? refusalOf(request, limits) : undefined
    if (error !== undefined) return refuse(error)
    if (hasClientLeft(request)) return
    if (payload.readableEnded || payload.destroyed) {
      return refuse(unreadable('was read before its parser: see "Serverless" in docs/embedding.md'))
    }
    payload.on('data', add).on('end', parse).resume()
  }
}

/** Refuses a body with an error that the error handler sends. */
export function refuseBody (request: FastifyRequest, payload: Readable, error: Error, done: Done): void {
  const pending = request.getDecorator<PendingRequest>(PENDING)
  pending.giveBack()
  // A stream of the host may still fail when nobody listens to it any more.
  payload.on('error', () => {})
  // Fastify closes the connection after an error of a parser, which resets a client that is still sending. If a hook of
  // the host has set the header, it stays.
  pending.keepsConnection = isRestDiscarded(request.raw, payload) && pending.reply?.hasHeader('connection') === false
  done(error)
}

/** Why the body is refused before it arrives, by its headers. */
function refusalOf ({ headers }: FastifyRequest, limits: PendingLimits): ApiError | undefined {
  const encoding = headers['content-encoding'] ?? ''
  if (encoding !== '' && encoding.toLowerCase() !== 'identity') return new ApiError('mediaTypeUnsupported')
  const exceeded = limits.exceededBy(Number(headers['content-length']) || 0)
  return exceeded === undefined ? undefined : refusalFor(exceeded)
}

function hasClientLeft ({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.readableEnded
}

/** A fault of the host: the client gets no detail of it. */
function unreadable (fault: string): ApiError {
  const message = 'The body could not be read; this request did not store the plant'
  return new ApiError('internal', message, new Error(`the body ${fault}`))
}

/** The error of a stream of the host, with a status as Fastify sets it. */
function streamError (fault: unknown): Error {
  const isChangeable = fault instanceof Error && Object.isExtensible(fault)
  const error: Error & { statusCode?: unknown } = isChangeable ? fault : new Error(messageOf(fault))
  if (!(Number(error.statusCode) >= 400)) error.statusCode = 400
  return error
}
