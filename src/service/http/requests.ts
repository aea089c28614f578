import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
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
export function faultOf ({ raw }: FastifyRequest): string | undefined {
  const { headers: { host }, rawHeaders, httpVersionMajor, httpVersionMinor } = raw
  if (httpVersionMajor !== 1) return 'The HTTP version is not supported: use HTTP/1.1'
  const repeated = repeatedHeader(rawHeaders)
  if (repeated !== undefined) return `There is more than one ${repeated} header: send one`
  // Section 3.2; HTTP/1.0 needs no Host.
  if (host === undefined) return httpVersionMinor === 0 ? undefined : 'The Host header is missing'
  return validHost.test(host) ? undefined : 'The Host header is not valid: send a host name or an address, and a port if need be'
}

const uniqueHeaders = ['host', 'content-type', 'authorization']

/**
 * Finds a repeated header that must be unique (RFC 9112, section 3.2; RFC 9110, section 5.3). Node keeps the first
 * value and a proxy may keep the last, so the two could decide on different values.
 */
function repeatedHeader (rawHeaders: readonly string[]): string | undefined {
  let found = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const index = uniqueHeaders.indexOf(rawHeaders[i]?.toLowerCase() ?? '')
    if (index < 0) continue
    if ((found & 1 << index) !== 0) return uniqueHeaders[index]
    found |= 1 << index
  }
  return undefined
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
