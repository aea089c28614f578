import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../http/error-codes.js'
import { sendError } from '../../http/error-handler.js'

/** Sends all errors of an app in the Error shape, also for paths without a route, and logs those of 500 or more. */
export function errorResponses (app: FastifyInstance, log: FastifyBaseLogger): void {
  app.addHook('onError', (request, _reply, _error, done) => {
    request.log = log.child({ reqId: request.id })
    done()
  })
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (error instanceof ApiError) return sendError(error, request, reply)
    // Fastify also refuses media types and methods on unknown paths.
    sendError(request.is404 ? missingRoute(request, reply) : new ApiError('internal', undefined, error), request, reply)
  })
  app.setNotFoundHandler((request, reply) => { sendError(missingRoute(request, reply), request, reply) })
}

/** 405 on the path of plants, else 404. */
function missingRoute ({ url }: FastifyRequest, reply: FastifyReply): ApiError {
  // As the router reads it: it takes absolute URLs too (RFC 9112, section 3.2.2), and ignores a fragment.
  const [path = ''] = url.replace(/^https?:\/\/[^/?]*/i, '').split(/[?#]/, 1)
  if (decodeURI(path) !== '/plants') return new ApiError('pathUnknown')
  reply.header('allow', 'POST')
  return new ApiError('methodNotAllowed')
}
