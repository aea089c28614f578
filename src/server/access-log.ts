import type { FastifyBaseLogger, FastifyInstance } from 'fastify'

/** One line a request: enough to find it again, nothing of its body or credentials. */
export function accessLog (app: FastifyInstance, log: FastifyBaseLogger): void {
  app.addHook('onResponse', (request, reply, done) => {
    log.info({
      reqId: request.id,
      method: request.method,
      url: request.url,
      statusCode: reply.statusCode,
      responseTime: reply.elapsedTime,
      remoteAddress: request.ip
    }, 'request')
    done()
  })
}
