import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { repeatedHeader } from '../../route/authentication.js'
import { ApiError } from '../../api-error.js'

/**
 * Makes the function that makes request ids, unique across processes and restarts: a random prefix and a counter.
 * @param header the header, in lower case, in which a trusted peer sets the id
 */
export function requestIds (header: string | undefined, isTrusted: (address: string | undefined) => boolean) {
  const prefix = `${randomBytes(9).toString('base64url')}-`
  let count = 0
  return function newId (request?: IncomingMessage): string {
    const given = header === undefined ? undefined : request?.headers[header]
    const isValid = typeof given === 'string' && /^[!-~]{1,128}$/.test(given)
    return isValid && isTrusted(request?.socket.remoteAddress) ? given : prefix + (++count).toString(36)
  }
}

// RFC 3986, section 3.2.2, and a port; or empty, which a client sends if its URI names no host, as over a Unix socket
// (RFC 9112, section 3.2).
const validHost = /^(?:(?:\[(?:[\da-f:.]+|v[\da-f]+\.[\w.~!$&'()*+,;=:-]+)\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})+)(?::\d*)?)?$/i

/** Finds the fault of a request that Node's parser accepts and RFC 9112 does not. */
export function faultOf ({ raw, is404 }: FastifyRequest): string | undefined {
  const { headers: { host }, rawHeaders, httpVersionMajor, httpVersionMinor, method } = raw
  if (httpVersionMajor !== 1) return 'The HTTP version is not supported: use HTTP/1.1'
  // The only route for POST, that of plants, looks for them itself.
  const repeated = method === 'POST' && !is404 ? undefined : repeatedHeader(rawHeaders)
  if (repeated !== undefined) return `There is more than one ${repeated} header: send one`
  // Section 3.2; HTTP/1.0 needs no Host.
  if (host === undefined) return httpVersionMinor === 0 ? undefined : 'The Host header is missing'
  return validHost.test(host) ? undefined : 'The Host header is not valid: send a host name or an address, and a port if need be'
}

/** The error of a request without a route: 405 if its path has routes for other methods, else 404. */
export function unknownRoute ({ url, server }: FastifyRequest, reply: FastifyReply): ApiError {
  const allowed = server.supportedMethods.filter(method => server.findRoute({ method, url }) !== null)
  // Without the API page, / is no endpoint. To the router, * is /.
  const isRoot = /^(?:\w+:\/\/[^/?#]*)?[/*]?(?:\?|$)/.test(url)
  if (allowed.length === 0 || isRoot) return new ApiError('pathUnknown')
  reply.header('allow', allowed.join(', '))
  return new ApiError('methodNotAllowed', `This path accepts only ${allowed.join(' and ')}`)
}
