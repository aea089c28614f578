import type { Server } from 'node:http'
import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import fastify, { type FastifyBaseLogger, type FastifyError, type FastifyInstance } from 'fastify'
import type { Tokens } from '../route/authentication.js'
import { ApiError, sendError } from '../route/errors.js'
import { plantStore } from '../plugin.js'
import type { PlantStore } from '../plant-store.js'
import type { Configuration } from '../config/configuration.js'
import { healthRoutes, type Health } from './health.js'
import { createHttpServer } from './http/http-server.js'
import { refuseMalformedHttp, type LastResponses } from './http/malformed-http.js'
import { refusal, unknownPath } from './http/refusals.js'
import { requestIds } from './http/request-ids.js'
import { drain } from './http/shutdown.js'
import { trustedProxies } from '../config/trusted-proxies.js'
import { accessLog } from './logging/access-log.js'
import type { ServiceMetrics } from './metrics/service-metrics.js'
import { descriptionRoutes } from './openapi.js'

export interface AppOptions {
  configuration: Partial<Configuration>
  store: PlantStore
  tokens: Tokens
  health: Health
  log: FastifyBaseLogger
  metrics?: Pick<ServiceMetrics, 'observeRequest'> | undefined
  /** Collects the servers: for the host name `localhost` there is one for each of its addresses. */
  servers?: Server[]
}

/**
 * Makes the HTTP service around the plugin, not listening yet: the routes of plants, health and description. Closing it
 * cuts off no request.
 */
export async function createApp (options: AppOptions): Promise<FastifyInstance> {
  const { configuration, store, tokens, health, log, metrics, servers = [] } = options
  const { TRUST_PROXY, REQUEST_ID_HEADER, ACCESS_LOG, DOCS } = configuration
  const isTrusted = TRUST_PROXY === undefined ? undefined : trustedProxies(TRUST_PROXY)
  const idOf = requestIds(REQUEST_ID_HEADER?.toLowerCase(), isTrusted)
  const lastResponses: LastResponses = new Map()
  const app = fastify({
    genReqId: idOf,
    ...(isTrusted && { trustProxy: isTrusted }),
    return503OnClosing: false,
    // Instead of Ajv, the only compiler that the type knows: loading it takes 7 % of the time of a start.
    schemaController: { compilersFactory: { buildValidator: () => TypeBoxValidatorCompiler as never } },
    serverFactory: handler => {
      const server = createHttpServer(handler, configuration.tls)
      refuseMalformedHttp(server, lastResponses, idOf, ACCESS_LOG ? log : undefined)
      servers.push(server)
      return server
    },
    clientErrorHandler: () => {}, // refuseMalformedHttp adds its own to each server.
    frameworkErrors: (_error, request, reply) => {
      // Hooks must also run for a path that cannot be decoded and for an absolute URL that is not valid.
      request.raw.url = request.url.replace(/^(?!\/)/, '/').replaceAll('%', '%25')
      app.routing(request.raw, reply.raw)
    }
  })

  if (ACCESS_LOG) app.addHook('onRequest', accessLog(log))
  app.addHook('onRequest', (request, reply, done) => {
    if (lastResponses.has(request.raw.socket)) lastResponses.set(request.raw.socket, reply.raw)
    if (REQUEST_ID_HEADER !== undefined) reply.raw.setHeader(REQUEST_ID_HEADER, request.id)
    done(refusal(request, reply, health))
  })
  if (metrics !== undefined) app.addHook('onResponse', metrics.observeRequest)
  app.addHook('onError', (request, reply, error, done) => {
    if (error instanceof ApiError && error.kind === 'requestMalformed') reply.raw.setHeader('connection', 'close')
    // A child logger for each request would cost more than the request, so only requests that fail get one.
    request.log = log.child({ reqId: request.id })
    done()
  })
  app.setErrorHandler((error: FastifyError, request, reply) => {
    // @fastify/static refuses, for example, a path with a NUL character.
    const kind = Number(error.statusCode) < 500 ? 'pathUnknown' : 'internal'
    sendError(error instanceof ApiError ? error : new ApiError(kind, undefined, error), request, reply)
  })
  app.setNotFoundHandler((request, reply) => { throw unknownPath(request, reply) })
  app.addHook('preClose', async () => {
    health.closing = true
    // Servers for an address that could not be bound never listened.
    await drain(servers.filter(server => server.listening), lastResponses)
  })

  await app.register(descriptionRoutes, { docs: DOCS === true })
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
