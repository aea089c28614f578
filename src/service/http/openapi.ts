import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import fastify, { type FastifyInstance } from 'fastify'
import { ApiError } from '../../api-error.js'
import { version } from '../configuration/configuration.js'
import { NewPlantSchema, PlantSchema } from '../../plant.js'
import { plantStore } from '../../plugin.js'
import { ErrorSchema } from '../../route/schemas.js'
import { memoryPlantStore } from '../../stores/memory-plant-store.js'
import { apiPage } from './api-page.js'
import { healthRoutes, HealthSchema } from './health.js'

const schemas = { NewPlant: NewPlantSchema, Plant: PlantSchema, Error: ErrorSchema, Health: HealthSchema }

const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'plant-store',
    version,
    description: 'Creates plants, durably. Retrying is always safe: the same plant (id, name and tag) gets 200 again. ' +
      'An `id` is an int64. JavaScript, and clients generated for it, round integers above 2^53: send such an id from a string or a BigInt, and never through `Number`.\n\n' +
      'Any request may also get 404 (40401, unknown path), 405 (40501, another method), 408 (40801, too slow) and 431 (43101, headers too large).',
    license: { name: 'MIT', identifier: 'MIT' }
  },
  // Relative to the document, which a proxy may serve under a prefix.
  servers: [{ url: '.', description: 'This service' }],
  tags: [
    { name: 'plants', description: 'The store' },
    { name: 'health', description: 'For probes; no token is needed' }
  ],
  components: {
    securitySchemes: {
      bearer: {
        type: 'http' as const,
        scheme: 'bearer',
        description: 'An access token (RFC 6750): one of `ACCESS_TOKENS` or, if that is not set, the token that the service printed when it started.'
      }
    }
  }
}

interface Document { components?: object, paths?: any }

/** Names the schemas that the operations share, and says what to do about a 401 where a person reads of it. */
function complete (document: Document): object {
  document.components = { ...document.components, schemas }
  document.paths['/plants'].post.responses[401].description += '\n\nOn the API page, enter a token with Authorize.'
  return JSON.parse(JSON.stringify(document, (key, value) => (
    value?.title in schemas && key !== value.title ? { $ref: `#/components/schemas/${value.title}` } : value
  )))
}

/**
 * Serves the document of the service at `/openapi.json` and, with `docs`, a page at `/docs`, to which `/` leads. Both
 * are of another app, which the first request for them makes: what it loads would take an eighth of each start.
 */
export function describeApi (app: FastifyInstance, docs: boolean): void {
  const failures = new WeakMap<IncomingMessage, (error: Error) => void>()
  let description: Promise<FastifyInstance> | undefined
  const paths = docs ? ['/openapi.json', '/docs', '/docs/*'] : ['/openapi.json']
  for (const path of paths) {
    app.get(path, async ({ raw }, reply) => {
      description ??= createDescription(docs, failures)
      const { routing } = await description
      const failed = new Promise<never>((_resolve, reject) => { failures.set(raw, reject) })
      const closed = once(reply.raw, 'close')
      routing(raw, reply.raw)
      await Promise.race([failed, closed])
      // It has sent the response.
      reply.hijack()
    })
  }
  if (docs) app.get('/', (_request, reply) => reply.redirect('./docs'))
}

/** Makes an app with the routes to describe. It leaves an error to the app that has passed on the request. */
async function createDescription (
  docs: boolean, failures: WeakMap<IncomingMessage, (error: Error) => void>
): Promise<FastifyInstance> {
  const app = fastify()
  app.setErrorHandler((error: Error, request, reply) => {
    reply.hijack()
    failures.get(request.raw)?.(error)
  })
  app.setNotFoundHandler(() => { throw new ApiError('pathUnknown') })
  await app.register(import('@fastify/swagger'), {
    openapi,
    hideUntagged: true,
    stripBasePath: false,
    transformObject: input => complete('openapiObject' in input ? input.openapiObject : {})
  })
  app.get('/openapi.json', () => app.swagger())
  if (docs) await app.register(apiPage)
  await app.register(healthRoutes, { health: { fault: async () => undefined } })
  await app.register(plantStore, { store: memoryPlantStore(), tokens: ['of-no-use'] })
  await app.ready()
  return app
}
