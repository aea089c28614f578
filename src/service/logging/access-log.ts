import type { FastifyBaseLogger, FastifyReply, FastifyRequest, onResponseHookHandler } from 'fastify'
import { traceId } from '../../http/errors/error-handler.js'

/**
 * Makes the hook that logs one line for each request, without its body, its credentials and its query, which may be a
 * token.
 */
export function accessLine (log: FastifyBaseLogger): onResponseHookHandler {
  return function logAccess (request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    const { id: reqId, method, url, headers } = request
    log.info({
      reqId,
      method,
      url: url.split('?', 1)[0],
      statusCode: reply.statusCode,
      responseTime: Number(reply.elapsedTime.toFixed(3)),
      remoteAddress: request.ip ?? 'unix',
      traceId: traceId(headers.traceparent)
    }, 'request')
    done()
  }
}
