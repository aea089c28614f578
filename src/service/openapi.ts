import fastify, { type FastifyError, type FastifyInstance, type RouteOptions } from 'fastify'
import { version } from '../config/version.js'
import { ApiError } from '../route/errors.js'
import { errorResponses, ErrorSchema, NewPlantSchema, PlantSchema } from '../route/schemas.js'
import { HealthSchema } from './health.js'

const schemas = { NewPlant: NewPlantSchema, Plant: PlantSchema, Error: ErrorSchema, Health: HealthSchema }

/** What any request may get. */
const common = errorResponses('pathUnknown', 'methodNotAllowed', 'requestTimeout', 'headersTooLarge')

const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'plant-store',
    // The version of the interface, which is that of the package.
    version,
    description: 'Creates plants, durably. Retrying is always safe: the very same plant (id, name and tag) gets 200 again.\n\n' +
      'An `id` is an int64. JavaScript, and clients generated for it, round integers above 2^53: send such an id from a string or a BigInt, and never through `Number`.',
    license: { name: 'MIT', identifier: 'MIT' }
  },
  // Relative to the document, which a proxy may serve under a prefix.
  servers: [{ url: '.', description: 'This service' }],
  tags: [{ name: 'plants', description: 'The store' }, { name: 'health', description: 'For probes; no token is needed' }]
}

/**
 * Describes the routes that have tags, from the schemas that validate. To load `@fastify/swagger` takes a tenth of the
 * time of a start: hence only now, and in an instance of its own.
 */
async function describe (routes: readonly RouteOptions[]): Promise<object> {
  const compilersFactory = { buildValidator: () => () => () => true, buildSerializer: () => () => JSON.stringify }
  const app = fastify({ exposeHeadRoutes: false, schemaController: { compilersFactory: compilersFactory as object } })
  await app.register(import('@fastify/swagger'), { openapi, stripBasePath: false })
  app.after(() => {
    for (const { method, url, schema, config = {} } of routes) {
      if (schema?.tags === undefined) continue
      const response = { ...schema.response as object, ...common }
      app.route({ method, url, schema: { ...schema, response }, config, handler () {} })
    }
  })
  await app.ready()
  const document = app.swagger() as { components?: object }
  return JSON.parse(JSON.stringify({ ...document, components: { ...document.components, schemas } }, (key, value) => (
    value?.title in schemas && key !== value.title ? { $ref: `#/components/schemas/${value.title}` } : value
  )))
}

/** `GET /openapi.json`, and with `docs` a page to read and try it at `/docs`. */
export async function descriptionRoutes (
  app: FastifyInstance, { docs, routes }: { docs: boolean, routes: readonly RouteOptions[] }
): Promise<void> {
  let description: Promise<object> | undefined
  app.get('/openapi.json', async () => {
    description ??= describe(routes)
    return description
  })
  if (docs) await app.register(docsPage, { document: { ...await describe(routes), servers: [{ url: '..' }] } })
}

async function docsPage (page: FastifyInstance, { document }: { document: object }): Promise<void> {
  page.addHook('onRequest', async ({ headers }) => {
    // Range may be ignored (RFC 9110, section 14.2), and the table of errors has no 412 and 416.
    for (const name of ['range', 'if-match', 'if-unmodified-since']) Reflect.deleteProperty(headers, name)
  })
  page.setErrorHandler((error: FastifyError) => {
    // @fastify/static refuses, for example, a path with a NUL character or one that leaves its folder.
    throw error.code === 'FST_STATIC_FORBIDDEN_PATH' || error.name === 'BadRequestError' ? new ApiError('pathUnknown') : error
  })
  await page.register(import('@fastify/swagger'), { mode: 'static', specification: { document: document as never } })
  await page.register(import('@fastify/swagger-ui'), {
    routePrefix: '/docs',
    // The links of the page are relative: a proxy may serve it under a prefix.
    indexPrefix: '.',
    // The default upgrades requests to HTTPS, which leaves a page over plain HTTP blank, except on localhost.
    staticCSP: "default-src 'self'; base-uri 'self'; frame-ancestors 'self'; img-src 'self' data:; object-src 'none'",
    uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, validatorUrl: null, syntaxHighlight: false },
    theme: { title: 'plant-store' }
  })
}
