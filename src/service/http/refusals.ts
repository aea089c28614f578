import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../route/errors.js'
import { repeatedHeader } from '../../route/authentication.js'
import type { Health } from '../health.js'

/** Refuses malformed requests, unknown paths, and create requests while the event loop lags, before any other work. */
export function refusal (request: FastifyRequest, reply: FastifyReply, health: Health): ApiError | undefined {
  const error = protocolError(request)
  if (request.headers.upgrade !== undefined) reply.raw.setHeader('connection', 'close')
  if (error !== undefined || request.is404) return error ?? unknownPath(request, reply)
  if (!health.overloaded || request.method !== 'POST') return undefined
  return new ApiError('notStored', 'The service is overloaded; this request did not store the plant: retry later')
}

/** The error of a request without a route: 405 on the path of plants, else 404. */
export function unknownPath ({ url }: FastifyRequest, reply: FastifyReply): ApiError {
  // As the router reads it: it takes absolute URLs too (RFC 9112, section 3.2.2), and ignores a fragment.
  const [path = ''] = url.replace(/^https?:\/\/[^/?]*/i, '').split(/[?#]/, 1)
  if (decodeURI(path) !== '/plants') return new ApiError('pathUnknown')
  reply.header('allow', 'POST')
  return new ApiError('methodNotAllowed')
}

// RFC 3986, section 3.2.2, and a port; or empty, which a client sends if its URI names no host, as over a Unix socket
// (RFC 9112, section 3.2).
const validHost = /^(?:(?:\[(?:[\da-f:.]+|v[\da-f]+\.[\w.~!$&'()*+,;=:-]+)\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})+)(?::\d*)?)?$/i
/** Nearly all requests have the same Host, so the last valid one is not checked again. */
let lastValidHost: string | undefined

/** @returns the fault of a request that Node's parser accepts and RFC 9112 does not; undefined if it has none */
function protocolError ({ raw, is404 }: FastifyRequest): ApiError | undefined {
  const { headers: { host }, rawHeaders, httpVersionMajor, httpVersionMinor, method } = raw
  if (httpVersionMajor !== 1) return new ApiError('requestMalformed', 'The HTTP version is not supported: use HTTP/1.1')
  // The only route for POST, that of plants, looks for them itself.
  const repeated = method === 'POST' && !is404 ? undefined : repeatedHeader(rawHeaders, 'authorization')
  if (repeated !== undefined) return new ApiError('requestMalformed', `There is more than one ${repeated} header: send one`)
  if (host === lastValidHost && host !== undefined) return undefined
  // Section 3.2; HTTP/1.0 needs no Host.
  if (host === undefined) return httpVersionMinor === 0 ? undefined : new ApiError('requestMalformed', 'The Host header is missing')
  if (!validHost.test(host)) return new ApiError('requestMalformed', 'The Host header is not valid: send a host name or an address, and a port if need be')
  lastValidHost = host
  return undefined
}
