import type { FastifyInstance } from 'fastify'
import { ApiError, errorCodes, type ErrorName } from '../route/errors.js'
import { createPlantSchema, ErrorSchema, NewPlantSchema, PlantSchema } from '../route/schemas.js'
import { version } from '../config/version.js'

const header = (description: string, example: string): object =>
  ({ description, required: true, schema: { type: 'string', examples: [example] } })

const requestId = header('The id of the request in the log of the service', 'k3jd8s1q-2f')

const headers: Readonly<Record<number, object>> = {
  401: { 'WWW-Authenticate': header('The challenge of RFC 6750, section 3', 'Bearer realm="plant-store"') },
  405: { Allow: header('The methods that the path takes', 'POST') },
  503: { 'Retry-After': header('Seconds until a retry', '1') }
}

/** The content of a request or of a response, with one of the schemas in the components. */
const json = (schema: string, examples?: object): object =>
  ({ 'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, examples } })

/** The responses that some rows of the table of errors describe, by status. */
function errorResponses (names: readonly ErrorName[]): Record<number, object> {
  const statuses = new Set(names.map(name => errorCodes[name][0]))
  return Object.fromEntries(Array.from(statuses, status => {
    const errors = names.filter(name => errorCodes[name][0] === status).map(name => {
      const [, error, message] = errorCodes[name]
      return { name, error, message }
    })
    return [status, {
      description: errors.map(({ error, message }) => `${error}: ${message}`).join('\n\n'),
      headers: { ...headers[status], 'X-Request-Id': requestId },
      content: json('Error', Object.fromEntries(errors.map(({ name, ...value }) => [name, { value }])))
    }]
  }))
}

/** A `GET` for probes. */
const probe = (operationId: string, summary: string, responses: object): object => ({
  get: {
    operationId,
    summary,
    description: 'For probes of a load balancer or of Kubernetes.',
    tags: ['health'],
    security: [],
    responses: { 200: { description: 'Yes', content: json('Status') }, ...errorResponses(['requestMalformed', 'requestTimeout', 'headersTooLarge']), ...responses }
  }
})

/** The API description, with the schemas that validate. */
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
  servers: [{ url: '/', description: 'This service' }],
  tags: [{ name: 'plants', description: 'The store' }, { name: 'health', description: 'For probes; no token is needed' }],
  paths: {
    '/plants': {
      post: {
        operationId: 'createPlant',
        summary: createPlantSchema.summary,
        description: 'The response is sent when the plant is stored durably. Retrying the same plant is always safe.',
        tags: ['plants'],
        security: [{ bearer: [] }],
        requestBody: {
          required: true,
          description: 'The plant. Fields that are not named here are ignored.',
          content: json('NewPlant')
        },
        responses: {
          200: { description: 'The plant is stored durably, now or by an earlier request', content: json('Plant') },
          ...errorResponses(Object.keys(errorCodes) as ErrorName[])
        }
      }
    },
    '/health/live': probe('live', 'Whether the process responds', {}),
    '/health/ready': probe('ready', 'Whether the service can take plants', {
      503: {
        description: 'No; the message says why',
        headers: { ...headers[503], 'X-Request-Id': requestId },
        content: json('Error', { notReady: { value: { error: 50301, message: 'Not ready: the service is shutting down' } } })
      }
    })
  },
  components: {
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An access token, as in RFC 6750' } },
    schemas: {
      NewPlant: NewPlantSchema,
      Plant: PlantSchema,
      Error: ErrorSchema,
      Status: { type: 'object', required: ['status'], properties: { status: { type: 'string', enum: ['ok'] } } }
    }
  }
}

/** `GET /openapi.json`, and with `docs` a page to read and try it at `/docs`. */
export async function descriptionRoutes (app: FastifyInstance, { docs }: { docs: boolean }): Promise<void> {
  const description = JSON.stringify(openapi, undefined, 2)
  app.get('/openapi.json', (_request, reply) => { reply.type('application/json; charset=utf-8').send(description) })
  if (docs) await app.register(docsPage, { description })
}

async function docsPage (page: FastifyInstance, { description }: { description: string }): Promise<void> {
  page.addHook('onRequest', async ({ headers }, reply) => {
    // Range may be ignored (RFC 9110, section 14.2), and the table of errors has no 412 and 416.
    for (const name of ['range', 'if-match', 'if-unmodified-since']) Reflect.deleteProperty(headers, name)
    // The file of a response that waits for its turn would stay open if the client disconnects.
    if (reply.raw.socket === null) throw new ApiError('notStored', 'Requests for the API page cannot be pipelined: wait for each response')
  })
  await page.register(import('@fastify/swagger'), { mode: 'static', specification: { document: JSON.parse(description) } })
  await page.register(import('@fastify/swagger-ui'), {
    routePrefix: '/docs',
    // The default upgrades requests to HTTPS, which leaves a page over plain HTTP blank, except on localhost.
    staticCSP: "default-src 'self'; base-uri 'self'; frame-ancestors 'self'; img-src 'self' data:; object-src 'none'",
    uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, validatorUrl: null, syntaxHighlight: false },
    theme: { title: 'plant-store' }
  })
}
