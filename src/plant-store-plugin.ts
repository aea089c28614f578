import type { IncomingMessage } from 'node:http'
import fastify, {
  type FastifyInstance, type FastifyPluginAsync, type FastifyReply, type FastifyRequest, type FastifySchema, type RouteOptions
} from 'fastify'
import { ApiError, type ApiErrorName } from './api-error.js'
import { plantRoutes, plantSchema } from './plant-routes.js'
import { checkedOptions, type PlantStoreOptions } from './plant-store-options.js'

/** The host's request, kept on the raw one: its id, and what its token function looks at. */
const hostRequest = Symbol('plant-store.hostRequest')
type RawRequest = IncomingMessage & { [hostRequest]: FastifyRequest }
const hostOf = (raw: IncomingMessage): FastifyRequest => (raw as RawRequest)[hostRequest]

/** In a host's route, on the configuration: what ends the host's part of it. */
const lastHook = Symbol('plant-store.lastHook')
type HostHook = (request: FastifyRequest, reply: FastifyReply) => void

/** The host's part of a route ends with its `onRequest` hooks; what Fastify wants to have beyond them is never called. */
const never = (): any => never

/**
 * The plant store as a Fastify plugin: serves `POST <prefix>/plants`.
 *
 * ```ts
 * app.register(plantStore, { prefix: '/v1', store: sqlitePlantStore({ path: 'plants.db' }), tokens: ['an-access-token-of-yours'] })
 * ```
 *
 * The host's `onRequest` hooks run before it, and its `onResponse` hooks after it; nothing else of the host changes it.
 * What lies below a `prefix` of its own is its too: it is answered 404.
 *
 * It opens the store, and closes it with the host where it was this that opened it.
 * @throws {TypeError} where an option is wrong; the message says what is allowed
 * @throws {StoreUnusable} where the store can never be opened
 */
export const plantStore: FastifyPluginAsync<PlantStoreOptions> = async (host, options) => {
  const settings = checkedOptions(options)
  const { store } = settings

  // A plugin inherits its host's hooks, serializers and schema controller, and cannot decline them. So the route lives in
  // a Fastify instance of its own, which nothing of the host reaches: the host finds the route, and hands over.
  const app = fastify({ logger: false, return503OnClosing: false, genReqId: raw => hostOf(raw as IncomingMessage).id })
  await app.register(plantRoutes, {
    ...settings, url: '*', log: host.log, asSeenByTheHost: request => hostOf(request.raw)
  })
  await app.ready()

  const opened = await store.open?.() ?? false
  host.addHook('onClose', async () => {
    await app.close()
    if (opened) await store.close?.()
  })

  addRoutes(host as FastifyInstance, (request, reply) => {
    takeOver(reply)
    app.routing(Object.assign(request.raw, { [hostRequest]: request }), reply.raw)
  }, hasOwnPrefix(options))
}

// As fastify-plugin has it: a host of another major version of Fastify is told so.
Object.assign(plantStore, {
  [Symbol.for('fastify.display-name')]: 'plant-store',
  [Symbol.for('plugin-meta')]: { name: 'plant-store', fastify: '5.x' }
})

function addRoutes (host: FastifyInstance, createPlant: HostHook, allBelow: boolean): void {
  const hidden = { hide: true } as FastifySchema
  const others = host.supportedMethods.filter(method => method !== 'POST')
  // The host may have no security scheme of that name. The copy is for its onRoute hooks, which may write to it.
  const { security, ...schema } = structuredClone(plantSchema)
  const add = (route: Pick<RouteOptions, 'method' | 'url' | 'schema'>, hook: HostHook): void => {
    host.route({
      ...route,
      config: { [lastHook]: hook },
      exposeHeadRoute: false,
      // The host compiles nothing of the schema: it is there to be seen, by @fastify/swagger for one.
      validatorCompiler: never,
      serializerCompiler: never,
      handler: never
    })
  }
  // Behind the hooks that the host's own onRoute hooks put there, as @fastify/rate-limit does.
  host.addHook('onRoute', route => {
    const hook = (route.config as { [lastHook]?: never } | undefined)?.[lastHook]
    if (hook !== undefined) route.onRequest = [route.onRequest ?? [], hook].flat()
  })
  add({ method: 'POST', url: '/plants', schema }, createPlant)
  add({ method: others, url: '/plants', schema: hidden }, answer('methodNotAllowed', { allow: 'POST' }))
  if (allBelow) add({ method: host.supportedMethods, url: '/*', schema: hidden }, answer('pathUnknown'))
}

/** Whether the paths below are the plugin's own, and not the host's. */
function hasOwnPrefix (options: object): boolean {
  return !/^\/*$/.test((options as { prefix?: string }).prefix ?? '')
}

/** Answers an error without the host's serializers and hooks. */
function answer (kind: ApiErrorName, headers = {}): HostHook {
  const { statusCode, error, message } = new ApiError(kind)
  const body = JSON.stringify({ error, message })
  const all = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body), ...headers }
  return (_request, reply) => {
    takeOver(reply)
    reply.raw.writeHead(statusCode, all).end(body)
  }
}

/** From here on the answer is no longer the host's; the headers that it has set so far are kept. */
function takeOver (reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value)
  }
  reply.hijack()
}
