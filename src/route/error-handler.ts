import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ErrorBody, serializeOnce } from './serialization.js'
import { ApiError } from './errors.js'

type ErrorHandler = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => unknown

/**
 * Makes the error handler of the plugin's scope. It sends the plugin's own errors in the Error shape, and rethrows all
 * others, for the error handler of the parent scope.
 * @param parent the error handler of the parent scope
 */
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
  if (error.statusCode >= 500) logFault(error, request)
  writeError(error, request, reply)
}

/** Sends a non-2xx response without logging it. */
export function writeError (error: ApiError, { id }: FastifyRequest, reply: FastifyReply): void {
  reply.serializer(serializeOnce).code(error.statusCode).headers(errorHeaders(error, id)).send(new ErrorBody(error))
}

/** Seconds until a client may retry a plant that is not stored. */
const RETRY_AFTER = '1'

/** The headers of every non-2xx response. */
export function errorHeaders ({ kind }: ApiError, requestId: string): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': requestId,
    ...(kind === 'notStored' && { 'retry-after': RETRY_AFTER })
  }
}

function logFault ({ kind, statusCode, error, message, cause }: ApiError, { log }: FastifyRequest): void {
  log[kind === 'internal' ? 'error' : 'warn']({ statusCode, error, err: cause }, message)
}
