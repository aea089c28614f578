import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { ApiError } from './errors.js'
import { parseBody } from './parse-body.js'
import { BODY_BYTES, CHUNK_BYTES, type PendingLimits } from './pending-limits.js'

type Done = (error: Error | null, body?: unknown) => void

/** Makes the parser of JSON bodies. Unlike Fastify's `parseAs`, it counts the bytes of all bodies as they arrive. */
export function bodyReader (limits: PendingLimits) {
  return function readBody (request: FastifyRequest, payload: Readable, done: Done): void {
    // Otherwise it is a stream that a preParsing hook of the host returned, decoded and of another length.
    const isRaw = payload === request.raw
    const announced = isRaw ? Number(request.headers['content-length']) || 0 : 0
    const chunks: Buffer[] = []
    let [received, held, hasEnded] = [0, 0, false]

    function release (): void {
      hasEnded = true
      limits.bytes -= held
      held = chunks.length = 0
    }
    function end (error: Error | null, body?: unknown): void {
      if (hasEnded) return
      release()
      done(error, body)
    }

    payload.on('data', (data: Buffer | string) => {
      // The rest of a refused body is discarded.
      if (hasEnded) return
      const chunk = typeof data === 'string' ? Buffer.from(data) : data
      received += chunk.length
      const isFirst = chunks.push(chunk) === 1
      // A body in one chunk is parsed in this turn of the event loop, so it is not counted.
      if (isFirst && received === announced) return
      const size = isFirst ? chunk.length : chunk.length + CHUNK_BYTES
      const error = limits.exceededBy(size, received)
      if (error !== undefined) return end(error)
      limits.bytes += size
      held += size
      if (isFirst) request.raw.once('close', () => { if (!request.raw.readableEnded) release() }) // The client left.
    }).on('end', () => {
      request.setDecorator(BODY_BYTES, received)
      try {
        end(null, parseBody(chunks.length === 1 ? chunks[0] as Buffer : Buffer.concat(chunks)))
      } catch (error) {
        end(error as Error)
      }
    })
    if (!isRaw) payload.on('error', fault => { end(Object.assign(fault, { statusCode: Object(fault).statusCode ?? 400 })) }).resume()
    const isEncoded = isRaw && request.headers['content-encoding'] !== undefined
    const error = isEncoded ? new ApiError('mediaTypeUnsupported') : limits.exceededBy(announced)
    if (error !== undefined) end(error)
  }
}
