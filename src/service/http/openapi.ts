import fastify, { type FastifyInstance } from 'fastify'
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

/** Serves the document of the service at `/openapi.json`, and with `docs` a page at `/docs`. Registered first. */
export async function describeApi (app: FastifyInstance, docs: boolean): Promise<void> {
  if (docs) {
    await documentRoutes(app)
    app.get('/openapi.json', () => app.swagger())
    await app.register(apiPage)
    return
  }
  let document: Promise<object> | undefined
  app.get('/openapi.json', () => {
    document ??= documentOfRoutes()
    return document
  })
}

/** Documents the routes that are registered after it. */
async function documentRoutes (app: FastifyInstance): Promise<void> {
  await app.register(import('@fastify/swagger'), {
    openapi,
    hideUntagged: true,
    stripBasePath: false,
    transformObject: input => complete('openapiObject' in input ? input.openapiObject : {})
  })
}

/** Made when it is asked for, of an app with the same routes: loading @fastify/swagger takes 7 % of a start. */
async function documentOfRoutes (): Promise<object> {
  const app = fastify()
  await documentRoutes(app)
  await app.register(healthRoutes, { health: { fault: async () => undefined } })
  await app.register(plantStore, { store: memoryPlantStore(), tokens: ['of-no-use'] })
  await app.ready()
  return app.swagger()
}
