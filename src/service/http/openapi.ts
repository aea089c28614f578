import { Readable } from 'node:stream'
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { version } from '../configuration/configuration.js'
import { NewPlantSchema, PlantSchema } from '../../plant.js'
import { errorResponses, ErrorSchema } from '../../route/schemas.js'
import { HealthSchema } from './health.js'

const schemas = { NewPlant: NewPlantSchema, Plant: PlantSchema, Error: ErrorSchema, Health: HealthSchema }

/** What any request may get: documented for each operation, with headers as @fastify/swagger writes those of routes. */
const common = errorResponses('pathUnknown', 'methodNotAllowed', 'requestTimeout', 'headersTooLarge')
for (const { headers } of Object.values(common)) {
  for (const [name, { description, ...schema }] of Object.entries(headers)) headers[name] = { description, schema }
}

const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'plant-store',
    version,
    description: 'Creates plants, durably. Retrying is always safe: the same plant (id, name and tag) gets 200 again. ' +
      'An `id` is an int64. JavaScript, and clients generated for it, round integers above 2^53: send such an id from a string or a BigInt, and never through `Number`.',
    license: { name: 'MIT', identifier: 'MIT' }
  },
  // Relative to the document, which a proxy may serve under a prefix.
  servers: [{ url: '.', description: 'This service' }],
  tags: [
    { name: 'plants', description: 'The store' },
    { name: 'health', description: 'For probes; no token is needed' }
  ]
}

interface Document { components?: object, paths?: Record<string, Record<string, { responses: object }>> }

function complete (document: Document): object {
  const operations = Object.values(document.paths ?? {}).flatMap(path => Object.values(path))
  for (const operation of operations) Object.assign(operation.responses, common)
  document.components = { ...document.components, schemas }
  return JSON.parse(JSON.stringify(document, (key, value) => (
    value?.title in schemas && key !== value.title ? { $ref: `#/components/schemas/${value.title}` } : value
  )))
}

/** Documents the routes registered after it at `/openapi.json`, and with `docs` on a page at `/docs`. */
export async function describeApi (app: FastifyInstance, docs: boolean): Promise<void> {
  await app.register(swagger, {
    openapi,
    hideUntagged: true,
    stripBasePath: false,
    transformObject: input => complete('openapiObject' in input ? input.openapiObject as Document : {})
  })
  app.get('/openapi.json', () => app.swagger())
  if (docs) await app.register(apiPage)
}

/**
 * Follows the reader's system in light and dark, and starts Swagger UI on `/openapi.json`, instead of the script of
 * @fastify/swagger-ui, which reads a copy of the document.
 */
const script = `
const systemIsDark = matchMedia('(prefers-color-scheme: dark)')
const followSystem = () => document.documentElement.classList.toggle('dark-mode', systemIsDark.matches)
followSystem()
systemIsDark.addEventListener('change', followSystem)

window.onload = () => SwaggerUIBundle({
  url: new URL(location.pathname.replace(/\\/$/, '') + '/../openapi.json', location).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  tryItOutEnabled: true,
  validatorUrl: null,
  syntaxHighlight: false
})
`

const style = `
/* A list of one server is no choice, and no response has links. */
.swagger-ui .scheme-container .servers-title, .swagger-ui .scheme-container .servers { display: none }
.swagger-ui .response-col_links { display: none }

/* On a narrow screen, an example would reach beyond its frame. */
.swagger-ui .responses-table { table-layout: fixed }
.swagger-ui .responses-table .col_header:first-child { width: 4em }

/* What the dark theme of Swagger UI leaves light, or dark. */
html.dark-mode body { background: #1c2022 }
html.dark-mode .swagger-ui .headers .header-col { color: inherit }
`

/**
 * Serves the page at `/docs`, with Swagger UI, and leads from `/` to it. All links are relative: a proxy may serve them
 * under a prefix.
 */
async function apiPage (app: FastifyInstance): Promise<void> {
  app.get('/', (_request, reply) => reply.redirect('./docs'))
  // A file whose client has left is closed.
  app.addHook('onSend', (request, _reply, payload, done) => {
    if (payload instanceof Readable) request.raw.once('close', () => { payload.destroy() })
    done()
  })
  await app.register(import('@fastify/swagger-ui'), {
    routePrefix: '/docs',
    indexPrefix: '.',
    // The default upgrades requests to HTTPS, which leaves a page over plain HTTP blank, except on localhost.
    staticCSP: "default-src 'self'; base-uri 'self'; frame-ancestors 'self'; img-src 'self' data:; object-src 'none'",
    theme: {
      title: 'plant-store',
      css: [{ filename: 'page.css', content: style }],
      js: [{ filename: 'page.js', content: script }]
    }
  })
}
