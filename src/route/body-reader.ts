import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { ApiError } from './errors.js'
import { parseBody } from './parse-body.js'
import { BODY_BYTES, type PendingLimits } from './pending-limits.js'

/** What each further chunk takes in addition to its bytes. */
const CHUNK_BYTES = 512

/**
 * Makes the content type parser, which reads a JSON body of at most `bodyLimit` bytes. Unlike Fastify's own reading
 * (`parseAs`), it counts the bytes of all bodies as they arrive.
 */
export function bodyReader (bodyLimit: number, limits: PendingLimits) {
  const refusal = (size: number, more: number): ApiError | undefined =>
    size > bodyLimit ? new ApiError('bodyTooLarge') : limits.exceededBy(more)

  return (request: FastifyRequest, payload: Readable, done: (error: Error | null, body?: unknown) => void): void => {
    const { raw, headers } = request
    // A stream that a preParsing hook of the host returns may have another length.
    const announced = payload === raw ? Number(headers['content-length']) || 0 : 0
    const chunks: Buffer[] = []
    let [received, held, hasEnded] = [0, 0, false]

    function release (): void {
      hasEnded = true
      limits.bytes -= held
      held = chunks.length = 0
    }
    function end (error: Error | null, body?: unknown): void {
      release()
      done(error, body)
    }

    payload.on('data', (data: Buffer | string) => {
      if (hasEnded) return // The rest of a refused body is discarded.
      const chunk = typeof data === 'string' ? Buffer.from(data) : data
      received += chunk.length
      const isFirst = chunks.push(chunk) === 1
      // A body in one chunk is parsed in this turn of the event loop, so it is not counted.
      if (isFirst && received === announced) return
      const size = isFirst ? chunk.length : chunk.length + CHUNK_BYTES
      const error = refusal(received, size)
      if (error !== undefined) return end(error)
      limits.bytes += size
      held += size
      // Before the end of its body, a request closes only if the client disconnects.
      if (isFirst) raw.once('close', release)
    }).on('end', () => {
      if (hasEnded) return
      request.setDecorator(BODY_BYTES, received)
      try {
        end(null, parseBody(chunks.length === 1 ? chunks[0] as Buffer : Buffer.concat(chunks)))
      } catch (error) {
        end(error as Error)
      }
    })
    // As in Fastify, which keeps a status of the stream's own. A request itself closes without an error.
    if (payload !== raw) payload.on('error', fault => { if (!hasEnded) end(Object.assign(fault, { statusCode: Math.max(Object(fault).statusCode ?? 0, 400) })) })
    const error = headers['content-encoding'] === undefined ? refusal(announced, announced) : new ApiError('mediaTypeUnsupported')
    if (error !== undefined) end(error)
  }
}
