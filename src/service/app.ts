import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Tokens } from '../http/authentication.js'
import { ApiError } from '../http/error-codes.js'
import { sendError } from '../http/error-handler.js'
import { plantStore } from '../plugin.js'
import type { PlantStore } from '../stores/plant-store.js'
import type { Configuration } from './config/configuration.js'
import { trustedProxies } from './config/trusted-proxies.js'
import { errorResponses } from './http/error-responses.js'
import { healthRoutes, type Health } from './http/health-routes.js'
import { createHttpServer } from './http/http-server.js'
import { protocolError } from './http/protocol-errors.js'
import { requestIds } from './http/request-ids.js'
import { accessLog } from './logging/access-log.js'
import type { ServiceMetrics } from './metrics/service-metrics.js'
import { descriptionRoutes } from './openapi/description-routes.js'

export interface AppOptions {
  configuration: Partial<Configuration>
  store: PlantStore
  tokens: Tokens
  health: Health
  log: FastifyBaseLogger
  /** Observes each request that got a response. */
  metrics?: Pick<ServiceMetrics, 'observeRequest'> | undefined
  /** Called with each server: for the host name `localhost` there is one for each of its addresses. */
  onServer?: (server: Server) => void
}

/** Makes the HTTP service around the plugin, not listening yet: the routes of plants, health and description. */
export async function createApp (
  { configuration, store, tokens, health, log, metrics, onServer }: AppOptions
): Promise<FastifyInstance> {
  const isTrusted = configuration.TRUST_PROXY === undefined ? undefined : trustedProxies(configuration.TRUST_PROXY)
  const idHeader = configuration.REQUEST_ID_HEADER?.toLowerCase()
  const ids = requestIds(idHeader, isTrusted)
  const app = fastify({
    genReqId: ids.assign,
    ...(isTrusted && { trustProxy: isTrusted }),
    // A child logger for each request would cost more than the request, so only requests that fail get one.
    logger: false,
    // Only the route of plants needs compilers, and brings its own. Fastify's defaults would load Ajv at startup.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    serverFactory: handler => {
      const { tls, ACCESS_LOG } = configuration
      const server = createHttpServer(handler, { ids, tls, accessLog: ACCESS_LOG ? log : undefined })
      onServer?.(server)
      return server
    },
    // createHttpServer adds its own to each of the servers.
    clientErrorHandler: () => {},
    frameworkErrors: (error, request, reply) => {
      if (error.code !== 'FST_ERR_BAD_URL') return sendError(new ApiError('pathUnknown'), request, reply)
      // Hooks must also run for a path that cannot be decoded and for an absolute URL that is not valid.
      request.raw.url = request.url.replace(/^(?!\/)/, '/').replaceAll('%', '%25')
      app.routing(request.raw, reply.raw)
    }
  })
  if (configuration.ACCESS_LOG) accessLog(app, log)
  if (idHeader !== undefined) {
    app.addHook('onRequest', ({ id }, reply, done) => {
      reply.raw.setHeader(idHeader, id)
      done()
    })
  }
  app.addHook('onRequest', (request, reply, done) => { done(refusal(request.raw, reply.raw, health)) })
  if (metrics !== undefined) app.addHook('onResponse', metrics.observeRequest)
  errorResponses(app, log)
  await app.register(descriptionRoutes, { docs: configuration.DOCS === true })
  await app.register(healthRoutes, { health })
  await app.register(plantStore, {
    store,
    tokens,
    bodyLimit: configuration.BODY_LIMIT,
    storeTimeout: configuration.STORE_TIMEOUT,
    queueLimit: configuration.QUEUE_LIMIT,
    queueBytes: configuration.QUEUE_BYTES
  })
  return app
}

function noCompiler (): never {
  throw new TypeError('a route has no compilers of its own')
}

/** Refuses malformed requests, and create requests while the event loop lags, before any other work. */
function refusal (request: IncomingMessage, response: ServerResponse, health: Health): ApiError | undefined {
  const error = protocolError(request)
  if (error !== undefined || request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
  if (error !== undefined || !health.overloaded || request.method !== 'POST') return error
  return new ApiError('notStored', 'The service is overloaded; this request did not store the plant: retry later')
}
