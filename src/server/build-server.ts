import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { apiErrors, type ApiErrorName } from '../api-error.js'
import type { Tokens } from '../authenticate.js'
import { plantRoutes } from '../plant-routes.js'
import type { PlantStore } from '../stores/plant-store.js'
import { accessLog } from './access-log.js'
import type { Configuration } from './configuration.js'
import { healthRoutes, type Health } from './health-routes.js'
import { openapi } from './openapi.js'

export interface ServerOptions {
  configuration: Pick<Configuration, 'BODY_LIMIT' | 'STORE_TIMEOUT' | 'QUEUE_LIMIT' | 'ACCESS_LOG'>
  store: PlantStore
  tokens: Tokens
  health: Health
  log: FastifyBaseLogger
}

/** The HTTP service around the plugin, which does not listen yet: the routes of plants, of health and of the description. */
export async function buildServer ({ configuration, store, tokens, health, log }: ServerOptions): Promise<FastifyInstance> {
  const app = fastify({
    // The service logs what it has to say itself: a child logger for each request would cost more than the request.
    logger: false,
    // A slow client is cut, wherever it stops: headers after 10 s, the whole request after 20 s.
    requestTimeout: 20_000,
    keepAliveTimeout: 72_000,
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 2_000, maxHeaderSize: 16_384 },
    // While it closes, requests are answered as ever, with Connection: close.
    return503OnClosing: false,
    forceCloseConnections: false,
    clientErrorHandler: refuseConnection,
    frameworkErrors: (_error, _request, reply) => {
      const [status, error, message] = apiErrors.pathUnknown
      reply.statusCode = status
      reply.send({ error, message } as never)
    }
  })
  if (configuration.ACCESS_LOG) accessLog(app, log)
  await openapi(app)
  await app.register(healthRoutes, { health })
  await app.register(plantRoutes, {
    store,
    tokens,
    log,
    bodyLimit: configuration.BODY_LIMIT,
    storeTimeout: configuration.STORE_TIMEOUT,
    queueLimit: configuration.QUEUE_LIMIT
  })
  return app
}

const connectionErrors: Readonly<Record<string, ApiErrorName>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
  HPE_HEADER_OVERFLOW: 'headersTooLarge'
}

/** Answers what Node's parser refuses before there is a request, in the same shape as all other errors. */
function refuseConnection (fault: Error & { code?: string }, socket: Socket): void {
  if (socket.writable && fault.code !== 'ECONNRESET') {
    const [status, error, message] = apiErrors[connectionErrors[fault.code ?? ''] ?? 'requestMalformed']
    const body = JSON.stringify({ error, message })
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`)
  }
  socket.destroySoon()
}
