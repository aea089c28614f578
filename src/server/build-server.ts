import type { Server } from 'node:http'
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { ApiError, apiErrors } from '../api-error.js'
import type { Tokens } from '../authenticate.js'
import { plantRoutes } from '../plant-routes.js'
import type { PlantStore } from '../stores/plant-store.js'
import { TypeBoxValidatorCompiler } from '../typebox.js'
import { accessLine } from './access-log.js'
import type { Configuration } from './configuration.js'
import { descriptionRoutes } from './description-routes.js'
import { healthRoutes, type Health } from './health-routes.js'
import { createHttpServer } from './http-server.js'
import type { Metrics } from './metrics.js'

type Settings = 'BODY_LIMIT' | 'STORE_TIMEOUT' | 'QUEUE_LIMIT' | 'ACCESS_LOG'

export interface ServerOptions {
  configuration: Pick<Configuration, Settings> & Partial<Pick<Configuration, 'DOCS' | 'tls'>>
  store: PlantStore
  tokens: Tokens
  health: Health
  log: FastifyBaseLogger
  /** Is told each request that was answered. */
  metrics?: Pick<Metrics, 'observeRequest'> | undefined
  /** Gets each server that is made: for the host name `localhost` there is one for each of its addresses. */
  onServer?: (server: Server) => void
}

/** The HTTP service around the plugin, which does not listen yet: the routes of plants, of health and of the description. */
export async function buildServer (options: ServerOptions): Promise<FastifyInstance> {
  const { configuration, store, tokens, health, log, metrics, onServer } = options
  const app = fastify({
    // The service logs what it has to say itself: a child logger for each request would cost more than the request.
    logger: false,
    // Fastify's own, which nothing here uses, would load @fastify/ajv-compiler at the start.
    schemaController: { compilersFactory: { buildValidator: (() => TypeBoxValidatorCompiler) as never } },
    serverFactory: handler => {
      const server = createHttpServer(handler, configuration.tls)
      onServer?.(server)
      return server
    },
    // While it closes, requests are answered as ever, with Connection: close.
    return503OnClosing: false,
    forceCloseConnections: false,
    // createHttpServer has its own, on each of the servers.
    clientErrorHandler: () => {},
    frameworkErrors: (_error, _request, reply) => {
      const [status, error, message] = apiErrors.pathUnknown
      reply.statusCode = status
      reply.send({ error, message } as never)
    }
  })
  refuseAtOnce(app, health)
  if (configuration.ACCESS_LOG) app.addHook('onResponse', accessLine(log))
  if (metrics !== undefined) app.addHook('onResponse', metrics.observeRequest)
  descriptionRoutes(app, { docs: configuration.DOCS === true })
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

/** Refuses what has no Host (RFC 9112, section 3.2), and plants while the process cannot keep up, before anything is done for them. */
function refuseAtOnce (app: FastifyInstance, health: Health): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers, httpVersion, method } = request.raw
    if (headers.host === undefined && httpVersion === '1.1') return done(new ApiError('requestMalformed', 'The Host header is missing'))
    if (!health.overloaded || method !== 'POST') return done()
    done(new ApiError('notStored', 'The service is overloaded; the plant is not stored: send it again later'))
  })
}
