import type { FastifyBaseLogger, onRequestHookHandler } from 'fastify'

/**
 * Makes the hook that logs one line for each request, without its body, its credentials and its query, which may be a
 * token; without a status code if the client disconnected before the end of its response.
 */
export function accessLog (log: FastifyBaseLogger): onRequestHookHandler {
  return (request, { raw }, done) => {
    const { id: reqId, method, url } = request
    const started = performance.now()
    // A closed socket has no address.
    const remoteAddress = request.ip ?? 'unix'
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
    done()
  }
}
