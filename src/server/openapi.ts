import swagger from '@fastify/swagger'
import fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import { apiErrors } from '../api-error.js'
import { version } from './version.js'

/** A route as it was registered. */
export type Route = Pick<RouteOptions, 'method' | 'url'> & { schema: object }

/**
 * Makes an application that answers `GET /openapi.json`, the description of routes from the schemas that validate, and
 * where wanted `GET /docs`, a page that shows them and tries them out; all of it comes from here, nothing from a network.
 * It only knows the routes, and serves none of them.
 */
export async function describing (routes: readonly Route[], { docs }: { docs: boolean }): Promise<FastifyInstance> {
  // Nothing is validated or serialized here: no compiler is needed.
  const app = fastify({ schemaController: { compilersFactory: { buildValidator: (() => () => () => true) as never, buildSerializer: () => () => () => '' } } })
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'plant-store',
        // Of the interface, which is the package's.
        version,
        description: 'Stores plants, durably. A plant may be sent again at any time: the very same plant (id, name and tag) is answered 200.',
        license: { name: 'MIT', identifier: 'MIT' }
      },
      servers: [{ url: '/', description: 'This service' }],
      tags: [{ name: 'plants', description: 'The store' }, { name: 'health', description: 'For probes; without a token' }],
      components: {
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An access token, as in RFC 6750' } }
      }
    },
    transformObject: documentObject => {
      if (!('openapiObject' in documentObject)) return documentObject.swaggerObject
      return completed(documentObject.openapiObject as unknown as Document) as never
    }
  })
  if (docs) {
    await app.register(import('@fastify/swagger-ui'), {
      routePrefix: '/docs',
      staticCSP: true,
      uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, validatorUrl: null, syntaxHighlight: false },
      theme: { title: 'plant-store' }
    })
  }
  for (const { method, url, schema } of routes) app.route({ method, url, schema, handler: () => {} })
  app.get('/openapi.json', { schema: { hide: true } as object }, () => app.swagger())
  await app.ready()
  return app
}

/** What of the document is worked on here. */
interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas?: Record<string, object> }
}

interface Operation {
  description?: string
  tags?: string[]
  requestBody?: { required?: boolean, description?: string, content: Content }
  responses: Record<string, { description?: string, headers?: object, content?: Content }>
}

type Content = Record<string, { schema?: object, examples?: object }>

/** Completes what the schemas of the routes do not say: descriptions, headers and examples, from the table of errors. */
function completed (document: Document): Document {
  const schemas: Record<string, object> = {}
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const operation of Object.values(operations)) {
      const isHealth = path.startsWith('/health/')
      operation.tags = [isHealth ? 'health' : 'plants']
      operation.description = isHealth ? 'For probes of a load balancer or of Kubernetes.' : 'Answered when the plant is stored durably. To send the same plant again is always safe.'
      if (operation.requestBody !== undefined) {
        operation.requestBody.required = true
        operation.requestBody.description = 'The plant. Fields that are not named here are ignored and not stored.'
      }
      for (const [status, response] of Object.entries(operation.responses)) {
        if (!isHealth) describePlantsAnswer(status, response)
        else response.description = status === '200' ? 'Yes' : 'No; the message says why'
      }
    }
  }
  return { ...document, ...named(document, schemas) as Document, components: { ...document.components, schemas } }
}

function describePlantsAnswer (status: string, response: Operation['responses'][string]): void {
  const errors = Object.entries(apiErrors).filter(([, [errorStatus]]) => String(errorStatus) === status)
  if (errors.length === 0) {
    response.description = 'The plant is stored durably, now or before; as it is stored'
    return
  }
  response.description = errors.map(([, [, error, message]]) => `${error}: ${message}`).join('\n\n')
  const headers = answerHeaders[status]
  if (headers !== undefined) response.headers = headers
  const content = response.content?.['application/json']
  if (content === undefined) return
  content.examples = Object.fromEntries(errors.map(([name, [, error, message]]) => [name, { value: { error, message } }]))
}

const header = (description: string, example: string, required = true): object =>
  ({ description, required, schema: { type: 'string', examples: [example] } })

const answerHeaders: Readonly<Record<string, object>> = {
  401: { 'WWW-Authenticate': header('The challenge of RFC 6750, section 3', 'Bearer realm="plant-store"') },
  405: { Allow: header('The methods that the path takes', 'POST') },
  503: { 'Retry-After': header('Seconds after which to try again', '1') }
}

/** Puts each schema that has a title under that name, and a reference in its place, so that clients have types with names. */
function named (value: unknown, schemas: Record<string, object>): unknown {
  if (Array.isArray(value)) return value.map(item => named(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, named(item, schemas)]))
  const { title, type, example } = copy
  if (example !== undefined && type !== undefined) {
    // @fastify/swagger writes the keyword of OpenAPI 3.0, which 3.1 deprecates.
    delete copy.example
    copy.examples = [example]
  }
  if (typeof title !== 'string' || type !== 'object') return copy
  schemas[title] = copy
  return { $ref: `#/components/schemas/${title}` }
}
