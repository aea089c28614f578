import http, { STATUS_CODES, type RequestListener, type Server } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { FastifyBaseLogger } from 'fastify'
import { ApiError, type ErrorName } from '../../http/error-codes.js'
import { errorHeaders } from '../../http/error-handler.js'
import { ErrorBody, serialize } from '../../http/schemas/serialization.js'
import type { TlsPair } from '../config/tls-pair.js'
import { trackConnections, type HttpSocket } from './connections.js'
import type { RequestIds } from './request-ids.js'

// A slow client is disconnected: headers after 10 s, the whole request after 20 s.
const settings = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  connectionsCheckingInterval: 2_000,
  keepAliveTimeout: 72_000,
  maxHeaderSize: 16_384,
  // createApp refuses it with a response in the Error shape.
  requireHostHeader: false
}

export interface HttpServerOptions {
  ids: RequestIds
  tls: TlsPair | undefined
  /** Gets a line for each response to what is not a request, and so has no other line. */
  accessLog: FastifyBaseLogger | undefined
}

/** Makes a server, HTTPS if there is a certificate, which also responds to invalid HTTP in the Error shape. */
export function createHttpServer (handler: RequestListener, options: HttpServerOptions): Server {
  const { tls } = options
  const server = tls === undefined
    ? http.createServer(settings, handler)
    : https.createServer({ ...settings, ...secureContext(tls), handshakeTimeout: 10_000 }, handler)
  // By default Node silently drops headers after 2,000, one of which could be a second Authorization. maxHeaderSize
  // limits them.
  server.maxHeadersCount = 0
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1); Node would send a 417 without a body.
  server.on('checkExpectation', (request, response) => { server.emit('request', request, response) })
  trackConnections(server)
  return server.on('clientError', (fault, socket: Socket) => { refuse(fault, socket, options) })
}

/** Serves another certificate on new connections. */
export function changeCertificate (server: Server, tls: TlsPair): void {
  if (server instanceof https.Server) server.setSecureContext(secureContext(tls))
}

/** RFC 9325, section 3.1.1: TLS 1.2 or later. The ciphers are Node's, which follow its security releases. */
function secureContext ({ cert, key }: TlsPair): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2' }
}

const connectionErrors: Readonly<Record<string, ErrorName>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
  HPE_HEADER_OVERFLOW: 'headersTooLarge'
}

/** Responds in the Error shape to what Node's parser refuses, for which there is no request, only the socket. */
function refuse (fault: Error & { code?: string }, socket: HttpSocket, options: HttpServerOptions): void {
  const { code = '' } = fault
  // No response can be sent on a broken connection.
  if (!code.startsWith('HPE_') && code !== 'ERR_HTTP_REQUEST_TIMEOUT') {
    socket.destroy()
    return
  }
  endWith(new ApiError(connectionErrors[code] ?? 'requestMalformed'), socket, options)
}

/** Responds to the last input of a connection. */
function endWith (error: ApiError, socket: HttpSocket, options: HttpServerOptions): void {
  respond(error, socket, options)
}

function respond (error: ApiError, socket: HttpSocket, options: HttpServerOptions): void {
  const { ids, accessLog } = options
  const next = socket._httpMessage
  if (next?.req.complete === true && !socket.destroyed) {
    // Responses are sent in the order of the requests: a client must not match this one with an earlier request.
    next.once('close', () => { respond(error, socket, options) })
    return
  }
  const id = next ? ids.assign(next.req) : ids.next()
  const body = serialize(new ErrorBody(error))
  const headers = { ...errorHeaders(error, id), 'content-length': String(Buffer.byteLength(body)), connection: 'close' }
  if (next && !next.headersSent) {
    // Logged as the response to the request with the invalid body. The bytes received are released.
    const { req } = next
    socket.once('close', () => { req.destroy() })
    next.writeHead(error.statusCode, headers).end(body)
    return
  }
  if (!next && socket.writable) {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const { statusCode } = error
    accessLog?.info({ reqId: id, statusCode, remoteAddress: socket.remoteAddress ?? 'unix' }, 'request')
    socket.write(`HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}\r\n${lines.join('')}\r\n${body}`)
  }
  socket.destroySoon()
}
