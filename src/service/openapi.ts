import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { version } from '../config/configuration.js'
import { errorResponses, ErrorSchema, NewPlantSchema, PlantSchema } from '../route/schemas.js'
import { apiPage } from './api-page.js'
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
