import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { withoutPort } from '../../config/trusted-proxies.js'

/**
 * Logs one line for a request when its response has ended: without its body, its credentials and its query, which may
 * be a token; without a status code if the client disconnected before the end of its response.
 */
export function logAccess (log: FastifyBaseLogger, request: FastifyRequest, { raw }: FastifyReply): void {
  const { id: reqId, method, url } = request
  const started = performance.now()
  // A Unix socket and a closed one have no address.
  const remoteAddress = withoutPort(request.ip ?? 'unix')
  raw.on('close', () => {
    log.info({
      reqId,
      method,
      url: url.split('?', 1)[0],
      statusCode: raw.writableFinished ? raw.statusCode : undefined,
      responseTime: Number((performance.now() - started).toFixed(3)),
      remoteAddress
    }, 'request')
  })
}
