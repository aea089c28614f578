import { once } from 'node:events'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { endConnection } from '../../http/body/unread-body.js'
import type { DescribingOptions, Route } from './openapi.js'

/**
 * `GET /openapi.json` and, with `docs`, `GET /docs`: they describe every route that is registered after them. The
 * modules they need (a hundred files) are loaded on the first request.
 */
export function descriptionRoutes (app: FastifyInstance, options: DescribingOptions): void {
  const routes: Route[] = []
  let description: Promise<FastifyInstance> | undefined

  async function describe (request: FastifyRequest, reply: FastifyReply): Promise<void> {
    description ??= import('./openapi.js').then(({ describing }) => describing(routes, options))
    const { routing } = await description.catch((error: unknown) => {
      // The next request tries again.
      description = undefined
      throw error
    })
    reply.hijack()
    if (reply.raw.socket === null) {
      // Pipelined. Responses that wait for their turn take memory, or an open file that is not closed if the client
      // disconnects, without a limit.
      endConnection(request.raw, reply.raw)
      await once(reply.raw, 'socket')
    }
    routing(request.raw, reply.raw)
  }

  for (const url of ['/openapi.json', ...options.docs ? ['/docs', '/docs/*'] : []]) app.get(url, describe)
  app.addHook('onRoute', ({ method, url, schema }) => {
    if (method !== 'HEAD' && schema !== undefined) routes.push({ method, url, schema })
  })
}
