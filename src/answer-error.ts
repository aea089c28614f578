import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from './api-error.js'
import { refuseCredentials } from './authenticate.js'
import { fieldRules } from './plant-schemas.js'
import { traceId } from './trace-id.js'

/** Seconds after which a client may try again what surely was not stored. */
const RETRY_AFTER = '1'

/**
 * Makes the error handler: whatever fails is answered in the Error shape, and logged from status 500 on.
 * @param log where answers of 500 or more are told; never a token, never a body
 * @param plantsPath the path that takes POST only
 */
export function errorAnswerer (log: FastifyBaseLogger, plantsPath: string) {
  return function answerError (thrown: FastifyError | ApiError, request: FastifyRequest, reply: FastifyReply): void {
    // Where no route is, Fastify may still find fault with the content type.
    const error = request.is404 ? missingRoute(request, reply, plantsPath) : asApiError(thrown, request, reply)
    if (error.statusCode >= 500) logFault(log, error, request)
    if (error.kind === 'notStored') reply.header('retry-after', RETRY_AFTER)
    reply.code(error.statusCode).send({ error: error.error, message: error.message })
  }
}

/** The answer where no route is: 405 on the path of plants, else 404. */
function missingRoute (request: FastifyRequest, reply: FastifyReply, plantsPath: string): ApiError {
  if (decodeURI(request.url.split('?', 1)[0] as string) !== plantsPath) return new ApiError('pathUnknown')
  reply.header('allow', 'POST')
  return new ApiError('methodNotAllowed')
}

function asApiError (thrown: FastifyError | ApiError, request: FastifyRequest, reply: FastifyReply): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (thrown.validation !== undefined) return invalidPlant(thrown.validation[0]?.instancePath ?? '', request.body)
  if (thrown.code?.startsWith('FST_BEARER_AUTH_') && reply.statusCode === 401) {
    return refuseCredentials(request.headers.authorization, reply)
  }
  return new ApiError('internal', undefined, thrown)
}

function invalidPlant (path: string, body: unknown): ApiError {
  const field = path.slice(1)
  const rule = fieldRules[field]
  if (rule === undefined) return new ApiError('plantInvalid')
  const missing = !Object.hasOwn(body as object, field)
  return new ApiError('plantInvalid', missing ? `${field} is missing: ${rule}` : rule)
}

function logFault (log: FastifyBaseLogger, error: ApiError, request: FastifyRequest): void {
  const level = error.kind === 'internal' ? 'error' : 'warn'
  const trace = traceId(request.headers.traceparent)
  log[level]({ reqId: request.id, ...(trace && { traceId: trace }), statusCode: error.statusCode, error: error.error, err: error.cause }, error.message)
}
