import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { messageOf } from '../error-message.js'
import type { Exceeded } from '../pending/pending-limits.js'

/** Every non-2xx response: its status, its error number (the status and a count), and its message. */
export const errorCodes = {
  requestMalformed: [400, 40000, 'The request is not well-formed HTTP'],
  bodyMissing: [400, 40001, 'The request has no body: send a plant as JSON, for example {"id":1,"name":"Monstera"}'],
  bodyNotJson: [400, 40002, 'The body is not acceptable JSON'],
  plantInvalid: [400, 40003, 'The body is not a valid plant: send a JSON object with an id and a name'],
  idTaken: [400, 40004, 'Another plant has this id: choose another id'],
  credentialsMissing: [401, 40101, 'No well-formed credentials: send the header Authorization: Bearer <ACCESS_TOKEN>'],
  tokenUnknown: [401, 40102, 'The access token is not accepted'],
  pathUnknown: [404, 40401, 'There is no such endpoint: plants are created with POST /plants'],
  methodNotAllowed: [405, 40501, 'This path does not accept the method: use one that the header Allow names'],
  requestTimeout: [408, 40801, 'The request took too long to arrive'],
  bodyTooLarge: [413, 41301, 'The body is too large'],
  mediaTypeUnsupported: [415, 41501, 'The body must be JSON, unencoded: send the header Content-Type: application/json'],
  headersTooLarge: [431, 43101, 'The request headers are too large'],
  internal: [500, 50001, 'The service failed and the plant may have been stored: retrying the same plant is safe'],
  notStored: [503, 50301, 'This request did not store the plant: retry later'],
  outcomeUnknown: [504, 50401, 'The plant may have been stored: retry the same plant, which is always safe']
} as const satisfies Record<string, readonly [status: number, error: number, message: string]>

/** The name of a row of `errorCodes`. */
export type ErrorName = keyof typeof errorCodes

/** `code` of an ApiError, for hooks: `PLANT_STORE_ID_TAKEN` for `idTaken`. */
export type ErrorCode = `PLANT_STORE_${SnakeCase<ErrorName>}`

type SnakeCase<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? Uppercase<First> : `_${First}`}${SnakeCase<Rest>}`
  : S

const codes = Object.fromEntries(Object.keys(errorCodes).map(name => (
  [name, `PLANT_STORE_${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`]
))) as Record<ErrorName, ErrorCode>

/** A non-2xx response, which any code may throw and the error handler sends; `error` is from `errorCodes`. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly statusCode: number
  readonly error: number
  readonly code: ErrorCode

  /** @param cause the original error, for the log only */
  constructor (readonly kind: ErrorName, message?: string, cause?: unknown) {
    const { stackTraceLimit } = Error
    // An ApiError is a response, not a fault: capturing a stack would cost more than the rest of the response.
    Error.stackTraceLimit = 0
    super(message ?? errorCodes[kind][2], { cause })
    Error.stackTraceLimit = stackTraceLimit
    this.statusCode = errorCodes[kind][0]
    this.error = errorCodes[kind][1]
    this.code = codes[kind]
  }
}

/** The response to a create request that exceeds a limit. */
export function refusalFor (exceeded: Exceeded): ApiError {
  if (exceeded === 'bodyLimit') return new ApiError('bodyTooLarge')
  const fault = exceeded === 'queueLimit' ? 'Too many create requests are pending' : 'The pending create requests are too large'
  return new ApiError('notStored', `${fault}; this request did not store the plant: retry later`)
}

type ErrorHandler = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => unknown

/** Makes the scope's error handler, which sends the plugin's own errors, and leaves others to the parent scope's. */
export function errorHandler (parent: ErrorHandler): ErrorHandler {
  return function handleError (error, request, reply) {
    // Rethrown, a value that is not an Error would be sent as a response with status 200.
    if (!(error instanceof Error)) return parent(error, request, reply)
    // Fastify refuses a malformed media type before it calls any parser.
    const own = error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ? new ApiError('mediaTypeUnsupported') : error
    if (!(own instanceof ApiError)) throw error
    sendError(own, request, reply)
  }
}

/** Sends a non-2xx response, and logs it if its status is 500 or more. The log never contains a token or a body. */
export function sendError (error: ApiError, request: FastifyRequest, reply: FastifyReply): void {
  const { kind, statusCode, message, cause } = error
  if (statusCode >= 500) {
    // Only a fault of the service itself needs its stack.
    if (kind === 'internal') request.log.error({ statusCode, error: error.error, err: cause }, message)
    else request.log.warn({ statusCode, error: error.error, reason: cause && messageOf(cause) }, message)
  }
  reply.code(statusCode).headers(errorHeaders(error, request.id, request.headers.authorization))
  reply.send({ error: error.error, message })
}

/** The headers of every non-2xx response. */
export function errorHeaders ({ kind }: ApiError, requestId: string, authorization = ''): Record<string, string> {
  const headers: Record<string, string> = { 'x-request-id': requestId }
  if (kind === 'notStored') headers['retry-after'] = '1'
  if (kind === 'tokenUnknown') headers['www-authenticate'] = challenge('the token is not accepted')
  if (kind === 'credentialsMissing') {
    // RFC 6750, section 3: an error is named only if there are bearer credentials.
    const isBearer = /^Bearer(?: |$)/i.test(authorization)
    headers['www-authenticate'] = isBearer ? challenge('the token is malformed') : 'Bearer realm="plant-store"'
  }
  return headers
}

function challenge (description: string): string {
  return `Bearer realm="plant-store", error="invalid_token", error_description="${description}"`
}
