import { CloneType, Type, type Static } from '@sinclair/typebox'
import { errorCodes, type ErrorName } from '../api-error.js'
import { NewPlantSchema, PlantSchema } from '../plant.js'

/** The body of any non-2xx response. */
export const ErrorSchema = Type.Object({
  error: Type.Integer({ format: 'int32', description: 'Numeric error value' }),
  message: Type.String({ description: 'Error message text' })
}, { title: 'Error', description: 'What is wrong, and what to do next' })

export type ErrorWire = Static<typeof ErrorSchema>

type Headers = Record<string, { description: string, [keyword: string]: unknown }>
/**
 * The headers of an error response, in addition to `X-Request-Id`, by status. They have no `examples`, which are
 * invalid in OpenAPI 3.0: @fastify/swagger would leave them as they are.
 */
const headers: Readonly<Record<number, Headers>> = {
  401: {
    'WWW-Authenticate': {
      description: 'The challenge of RFC 6750, section 3', type: 'string', example: 'Bearer realm="plant-store"'
    }
  },
  405: { Allow: { description: 'The methods that the path accepts', type: 'string', example: 'POST' } },
  503: { 'Retry-After': { description: 'Seconds until a retry', type: 'integer', example: 1 } }
}
const requestId = {
  description: 'The id of the request in the log of the service', type: 'string', example: 'k3jd8s1q-2f'
}

/** The responses that some rows of the table of errors describe, by status, for Fastify's `schema.response`. */
export function errorResponses (...names: ErrorName[]) {
  const statuses = new Set(names.map(name => errorCodes[name][0]))
  return Object.fromEntries(Array.from(statuses, status => {
    const rows = names.map(name => [name, ...errorCodes[name]] as const).filter(([, ofRow]) => ofRow === status)
    const examples = Object.fromEntries(rows.map(([name, , error, message]) => [name, { value: { error, message } }]))
    return [status, {
      description: rows.map(([, , error, message]) => `${error}: ${message}`).join('\n\n'),
      headers: { ...headers[status], 'X-Request-Id': requestId } as Headers,
      content: { 'application/json': { schema: ErrorSchema, examples } }
    }]
  }))
}

/** Every response that the plugin itself sends. */
export const responses = {
  200: PlantSchema,
  ...errorResponses(
    // The likeliest first: the API page shows the first example of each status.
    'plantInvalid', 'idTaken', 'bodyNotJson', 'bodyMissing', 'requestMalformed', 'credentialsMissing', 'tokenUnknown',
    'bodyTooLarge', 'mediaTypeUnsupported', 'internal', 'notStored', 'outcomeUnknown'
  )
}

/** The schemas of `POST <prefix>/plants`, which Fastify compiles; a copy for each route, since a host may change it. */
export const createPlantSchema = () => cloneOf({
  summary: 'Creates a new plant in the store',
  description: 'The response is sent when the plant is stored durably. Retrying the same plant is always safe.',
  tags: ['plants'],
  body: NewPlantSchema,
  response: responses
})

/** A deep copy, with the symbols of schemas. Of TypeBox's copies, this one is loaded already. */
function cloneOf<Schemas extends object> (schemas: Schemas): Schemas {
  return CloneType(schemas as any)
}

/** What is used of a `SwaggerTransform`'s input, whatever version of @fastify/swagger a host has. */
interface Described { schema: object, url: string, openapiObject?: { components?: any, paths?: any } }

/**
 * The route's own transform for `@fastify/swagger`: adds what depends on the host's document. An operation may only
 * name a security scheme that the document declares, and its `operationId` must be unique (OpenAPI 3.1, 4.8.10).
 */
export function describeOperation ({ schema, url, openapiObject }: Described) {
  if (openapiObject === undefined) return { schema, url }
  const { components = {}, paths = {} } = openapiObject
  const schemes = components.securitySchemes ?? {}
  // RFC 9110, section 11.1: the name of a scheme is case-insensitive.
  const [hosts] = Object.entries<any>(schemes).find(([, { scheme }]) => scheme?.toLowerCase() === 'bearer') ?? []
  const name = hosts ?? ('bearer' in schemes ? 'plantStoreBearer' : 'bearer')
  if (hosts === undefined) {
    const bearer = { type: 'http', scheme: 'bearer', description: 'An access token, as in RFC 6750' }
    components.securitySchemes = { ...schemes, [name]: bearer }
  }
  const operations = Object.values<any>(paths).flatMap(path => Object.values<any>(path))
  const isTaken = operations.some(operation => operation?.operationId === 'createPlant')
  const operationId = isTaken ? `createPlant${url.replace(/\W+/g, '_')}` : 'createPlant'
  return { schema: { operationId, security: [{ [name]: [] }], ...schema }, url }
}
