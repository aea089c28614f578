import type { IncomingMessage } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifySchema } from 'fastify'
import { plantRoutes, plantSchema } from './plant-routes.js'
import { checkedOptions, type PlantStoreOptions } from './plant-store-options.js'

/** The host's request, kept on the raw one: its id, its logger, and what its token function looks at. */
const hostRequest = Symbol('plant-store.hostRequest')
type RawRequest = IncomingMessage & { [hostRequest]: FastifyRequest }
const hostOf = (raw: IncomingMessage): FastifyRequest => (raw as RawRequest)[hostRequest]

/** The host's part of a route ends with its `onRequest` hooks; what Fastify wants to have beyond them is never called. */
const never = (): any => never

/**
 * The plant store as a Fastify plugin.
 *
 * A Fastify plugin inherits its host's hooks, serializers and schema controller, and cannot decline them. So the routes
 * live in a Fastify instance of their own, which nothing of the host reaches: the host's route hands over the raw
 * request, once the host's `onRequest` hooks (rate limits, CORS, request ids) have let it pass.
 *
 * @throws {TypeError} where an option is wrong; the message says what is allowed
 * @throws {StoreUnusable} where the store can never be opened
 */
export async function plantStore (host: FastifyInstance, options: PlantStoreOptions): Promise<void> {
  const settings = checkedOptions(options)
  const { store } = settings

  const app = fastify({ logger: false, genReqId: raw => hostOf(raw as IncomingMessage).id })
  await app.register(plantRoutes, {
    ...settings, prefix: host.prefix, log: host.log, asSeenByTheHost: request => hostOf(request.raw)
  })
  await app.ready()

  const opened = await store.open?.() ?? false
  host.addHook('onClose', async () => {
    await app.close()
    if (opened) await store.close?.()
  })

  function handOver (request: FastifyRequest, reply: FastifyReply): void {
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value)
    }
    reply.hijack()
    app.routing(Object.assign(request.raw, { [hostRequest]: request }), reply.raw)
  }

  const hidden = { hide: true } as FastifySchema
  const handedOver = {
    url: '/plants',
    exposeHeadRoute: false,
    onRequest: handOver,
    // The host compiles nothing of the schema: it is there to be seen, by @fastify/swagger for one.
    validatorCompiler: never,
    serializerCompiler: never,
    handler: never
  }
  // The host may have no security scheme of that name.
  const { security, ...schema } = plantSchema
  host.route({ ...handedOver, method: 'POST', schema })
  host.route({ ...handedOver, method: host.supportedMethods.filter(method => method !== 'POST'), schema: hidden })
  // Where the prefix is the plugin's own, so is what lies below it.
  if ((options as { prefix?: string }).prefix) host.route({ ...handedOver, url: '/*', method: host.supportedMethods, schema: hidden })
}
