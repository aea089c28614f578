import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import fastify, { LogController } from 'fastify'
import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Tokens } from '../../route/authentication.js'
import { ApiError } from '../../api-error.js'
import { sendError } from '../../route/errors.js'
import { plantStore } from '../../plugin.js'
import type { PlantStore } from '../../stores/store.js'
import { trustedProxies, type Configuration } from '../configuration/configuration.js'
import { healthRoutes, type Health } from './health.js'
import { clientErrorHandler } from './client-errors.js'
import { faultOf, requestIds, unknownRoute } from './requests.js'
import { drain, serverOptions } from './server.js'
import { logAccess } from '../logger.js'
import type { ServiceMetrics } from '../metrics.js'
import { describeApi } from './openapi.js'

interface AppOptions {
  configuration: Partial<Configuration>
  store: PlantStore
  tokens: Tokens
  health: Health
  log: FastifyBaseLogger
  metrics?: ServiceMetrics | undefined
  /** `app.server`, and any others on which the app listens. */
  servers?: readonly Server[]
}

/** Makes the HTTP service around the plugin, not listening yet. Closing it cuts off no request. */
export async function createApp (
  { configuration, store, tokens, health, log, metrics, servers }: AppOptions
): Promise<FastifyInstance> {
  const { TRUST_PROXY, REQUEST_ID_HEADER, ACCESS_LOG, DOCS } = configuration
  const isTrusted = TRUST_PROXY === undefined ? () => false : trustedProxies(TRUST_PROXY)
  const newId = requestIds(REQUEST_ID_HEADER?.toLowerCase(), isTrusted)
  const latestReplies = new WeakMap<Socket, FastifyReply>()

  function begin (request: FastifyRequest, reply: FastifyReply): ApiError | undefined {
    // For Fastify's own warnings. As its `loggerInstance`, it would take 5 % of the processor time of a create request.
    request.log = reply.log = log
    latestReplies.set(request.raw.socket, reply)
    if (ACCESS_LOG) logAccess(log, request, reply)
    if (REQUEST_ID_HEADER !== undefined) reply.raw.setHeader(REQUEST_ID_HEADER, request.id)
    const fault = faultOf(request)
    if (fault !== undefined || health.closing) reply.raw.setHeader('connection', 'close')
    return fault === undefined ? undefined : new ApiError('requestMalformed', fault)
  }

  const app = fastify({
    ...serverOptions(configuration),
    genReqId: newId,
    ...(TRUST_PROXY !== undefined && { trustProxy: isTrusted }),
    return503OnClosing: false,
    // It would limit a shutdown too, which has a limit of its own.
    pluginTimeout: 0,
    logController: new LogController({ disableRequestLogging: true }),
    // Only the plugin validates, with a compiler of its own. Fastify's default would load Ajv.
    schemaController: { compilersFactory: { buildValidator: () => { throw new TypeError('no compiler is set') } } },
    clientErrorHandler: clientErrorHandler(latestReplies, newId, ACCESS_LOG ? log : undefined),
    // A path that cannot be decoded: no hook runs.
    frameworkErrors: (_error, request, reply) => {
      sendError(begin(request, reply) ?? new ApiError('pathUnknown'), request, reply)
      metrics?.observeRequest(request, reply, () => {})
    }
  })

  app.addHook('onRequest', (request, reply, done) => {
    const error = begin(request, reply)
    done(request.is404 ? error ?? unknownRoute(request, reply) : error)
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    // Fastify does so only for requests that begin after the shutdown.
    if (health.closing) reply.header('connection', 'close')
    done()
  })
  if (metrics !== undefined) app.addHook('onResponse', metrics.observeRequest)
  app.addHook('onError', (request, reply, error, done) => {
    if (error instanceof ApiError && error.kind === 'requestMalformed') reply.raw.setHeader('connection', 'close')
    if (!(error instanceof ApiError) || error.statusCode >= 500) request.log = log.child({ reqId: request.id })
    done()
  })
  app.setErrorHandler((error: FastifyError, request, reply) => {
    // @fastify/static refuses, for example, a path that leaves its folder, or a range that a file does not have.
    const kind = Number(error.statusCode) < 500 ? 'pathUnknown' : 'internal'
    sendError(error instanceof ApiError ? error : new ApiError(kind, undefined, error), request, reply)
  })
  app.addHook('preClose', async () => {
    health.closing = true
    await drain(servers ?? [app.server])
  })

  describeApi(app, DOCS === true)
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
