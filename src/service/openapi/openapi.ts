import swagger from '@fastify/swagger'
import fastify, { type FastifyBaseLogger, type FastifyError, type FastifyInstance, type RouteOptions } from 'fastify'
import { ApiError, errorCodes } from '../../http/errors/error-codes.js'
import { createPlantSchema, ErrorSchema } from '../../http/schemas/create-plant-schema.js'
import { errorResponses } from '../http/error-responses.js'
import type { RequestIds } from '../http/request-ids.js'
import { version } from '../version.js'

export type Route = Pick<RouteOptions, 'method' | 'url'> & { schema: object }

export interface DescribingOptions {
  docs: boolean
  ids: RequestIds
  log: FastifyBaseLogger
}

/**
 * Makes an app that serves `GET /openapi.json`, generated from the schemas that validate, and with `docs` a page to
 * read and try them at `/docs`. It does not serve the routes themselves.
 */
export async function describing (
  routes: readonly Route[], { docs, ids, log }: DescribingOptions
): Promise<FastifyInstance> {
  // Nothing is validated or serialized here, so no compiler is needed.
  const app = fastify({ genReqId: ids.assign }).setValidatorCompiler(() => () => true).setSerializerCompiler(() => () => '')
  errorResponses(app, log)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'plant-store',
        // The version of the interface, which is that of the package.
        version,
        description: 'Creates plants, durably. Retrying is always safe: the very same plant (id, name and tag) gets 200 again.\n\n' +
          'An `id` is an int64. JavaScript, and clients generated for it, round integers above 2^53: send such an id from a string or a BigInt, and never through `Number`.',
        license: { name: 'MIT', identifier: 'MIT' }
      },
      servers: [{ url: '/', description: 'This service' }],
      tags: [{ name: 'plants', description: 'The store' }, { name: 'health', description: 'For probes; no token is needed' }],
      components: {
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An access token, as in RFC 6750' } }
      }
    },
    transformObject: object => completed(JSON.stringify('openapiObject' in object ? object.openapiObject : object))
  })
  if (docs) {
    await app.register(async page => {
      page.addHook('onRequest', ({ headers }, _reply, done) => {
        // Range may be ignored (RFC 9110, section 14.2), and the table of errors has no 412 and 416.
        for (const name of ['range', 'if-match', 'if-unmodified-since']) Reflect.deleteProperty(headers, name)
        done()
      })
      page.setErrorHandler((error: FastifyError) => {
        // @fastify/static refuses, for example, a path with a NUL character.
        throw Number(error.statusCode) < 500 ? new ApiError('pathUnknown') : error
      })
      await page.register(import('@fastify/swagger-ui'), {
        routePrefix: '/docs',
        // The default upgrades requests to HTTPS, which leaves a page over plain HTTP blank, except on localhost.
        staticCSP: "default-src 'self'; base-uri 'self'; frame-ancestors 'self'; img-src 'self' data:; object-src 'none'",
        uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, validatorUrl: null, syntaxHighlight: false },
        theme: { title: 'plant-store' }
      })
    })
  }
  for (const { method, url, schema } of routes) {
    app.route({ method, url, schema: url === '/plants' ? createPlantOperation : schema, handler: () => {} })
  }
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger())
  await app.ready()
  return app
}

/** The plugin's operation, with the responses that the service sends before or instead of it. */
const createPlantOperation = {
  operationId: 'createPlant',
  ...createPlantSchema,
  response: {
    ...Object.fromEntries(Object.values(errorCodes).map(([status]) => [status, ErrorSchema])),
    ...createPlantSchema.response
  }
}

/** The parts of an operation that this file completes. */
interface Operation {
  description?: string
  tags?: string[]
  security?: object[]
  requestBody?: { required?: boolean, description?: string }
  responses: Record<string, { description?: string, headers?: object, content?: Record<string, { examples?: object }> }>
}

/** Moves schemas with a title to the components, and adds what the schemas of the routes lack. */
function completed (json: string) {
  const schemas: Record<string, object> = {}
  const document = JSON.parse(json, (_key, value) => {
    const { title, type, example } = value ?? {}
    if (example !== undefined && type !== undefined) {
      // @fastify/swagger writes the keyword of OpenAPI 3.0, which 3.1 deprecates.
      delete value.example
      value.examples = [example]
    }
    if (typeof title !== 'string' || type !== 'object') return value
    // With a reference to it, generated clients have named types.
    schemas[title] = value
    return { $ref: `#/components/schemas/${title}` }
  })
  for (const [path, operations] of Object.entries<Record<string, Operation>>(document.paths)) {
    for (const operation of Object.values(operations)) describeOperation(operation, path.startsWith('/health/'))
  }
  document.components.schemas = schemas
  return document
}

/** Adds descriptions, headers, and examples from the table of errors. */
function describeOperation (operation: Operation, isHealth: boolean): void {
  operation.tags = [isHealth ? 'health' : 'plants']
  operation.description = isHealth
    ? 'For probes of a load balancer or of Kubernetes.'
    : 'The response is sent when the plant is stored durably. Retrying the same plant is always safe.'
  if (!isHealth) operation.security = [{ bearer: [] }]
  if (operation.requestBody !== undefined) {
    operation.requestBody.required = true
    operation.requestBody.description = 'The plant. Fields that are not named here are ignored.'
  }
  for (const [status, response] of Object.entries(operation.responses)) {
    if (!isHealth || status === '400') describeResponse(status, response)
    else response.description = status === '200' ? 'Yes' : 'No; the message says why'
  }
}

function describeResponse (status: string, response: Operation['responses'][string]): void {
  const errors = Object.entries(errorCodes).filter(([, [errorStatus]]) => String(errorStatus) === status)
  if (errors.length === 0) {
    response.description = 'The plant is stored durably, now or by an earlier request'
    return
  }
  response.description = errors.map(([, [, error, message]]) => `${error}: ${message}`).join('\n\n')
  response.headers = { ...headers[status], 'X-Request-Id': requestId }
  const content = response.content?.['application/json']
  if (content === undefined) return
  const examples = errors.map(([name, [, error, message]]) => [name, { value: { error, message } }])
  content.examples = Object.fromEntries(examples)
}

const header = (description: string, example: string): object =>
  ({ description, required: true, schema: { type: 'string', examples: [example] } })

const requestId = header('The id of the request in the log of the service', 'k3jd8s1q-2f')

const headers: Readonly<Record<string, object>> = {
  401: { 'WWW-Authenticate': header('The challenge of RFC 6750, section 3', 'Bearer realm="plant-store"') },
  405: { Allow: header('The methods that the path takes', 'POST') },
  503: { 'Retry-After': header('Seconds until a retry', '1') }
}
