import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../http/error-codes.js'

/** The error of a request without a route: 405 on the path of plants, else 404. */
export function unknownPath ({ url }: FastifyRequest, reply: FastifyReply): ApiError {
  // As the router reads it: it takes absolute URLs too (RFC 9112, section 3.2.2), and ignores a fragment.
  const [path = ''] = url.replace(/^https?:\/\/[^/?]*/i, '').split(/[?#]/, 1)
  if (decodeURI(path) !== '/plants') return new ApiError('pathUnknown')
  reply.header('allow', 'POST')
  return new ApiError('methodNotAllowed')
}
