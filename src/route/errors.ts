import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../api-error.js'
import { messageOf } from '../error-message.js'
import type { Exceeded } from '../pending/pending-request.js'

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

const CHALLENGE = 'Bearer realm="plant-store"'

/** The headers of every non-2xx response. */
export function errorHeaders ({ kind }: ApiError, requestId: string, authorization = ''): Record<string, string> {
  const headers: Record<string, string> = {}
  // A host can make ids that no header can have.
  if (/^[ -~\x80-\xff]+$/.test(String(requestId))) headers['x-request-id'] = requestId
  if (kind === 'notStored') headers['retry-after'] = '1'
  if (kind === 'tokenUnknown') headers['www-authenticate'] = `${CHALLENGE}, error="invalid_token", error_description="the token is not accepted"`
  if (kind === 'credentialsMissing') {
    // RFC 6750, section 3: an error is named only if there are bearer credentials.
    const isBearer = /^Bearer(?: |$)/i.test(authorization)
    const error = isBearer ? ', error="invalid_token", error_description="the token is malformed"' : ''
    headers['www-authenticate'] = CHALLENGE + error
  }
  return headers
}
