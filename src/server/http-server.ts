import http, { STATUS_CODES, type RequestListener, type Server, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { apiErrors, type ApiErrorName } from '../api-error.js'
import type { TlsPair } from './tls-pair.js'

// A slow client is cut, wherever it stops: headers after 10 s, the whole request after 20 s.
const settings = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  connectionsCheckingInterval: 2_000,
  keepAliveTimeout: 72_000,
  maxHeaderSize: 16_384,
  // buildServer refuses it, in the Error shape.
  requireHostHeader: false
}

/** Makes a server, HTTPS where there is a certificate, that answers in the Error shape also what is no HTTP. */
export function createHttpServer (handler: RequestListener, tls: TlsPair | undefined): Server {
  const server = tls === undefined
    ? http.createServer(settings, handler)
    : https.createServer({ ...settings, ...secureContext(tls), handshakeTimeout: 10_000 }, handler)
  // Node drops what is over 2,000 in silence, which could be a second Authorization. maxHeaderSize bounds them.
  server.maxHeadersCount = 0
  // An expectation that is not known may be ignored (RFC 9110, section 10.1.1); Node would answer a bare 417.
  server.on('checkExpectation', handler)
  return server.on('clientError', refuseConnection)
}

/** Serves another certificate to the connections that come from now on. */
export function changeCertificate (server: Server, tls: TlsPair): void {
  if (server instanceof https.Server) server.setSecureContext(secureContext(tls))
}

/** RFC 9325, section 3.1.1: nothing older than TLS 1.2. The ciphers are Node's, which follow its security releases. */
function secureContext ({ cert, key }: TlsPair): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2' }
}

const connectionErrors: Readonly<Record<string, ApiErrorName>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
  HPE_HEADER_OVERFLOW: 'headersTooLarge'
}

/** Answers what Node's parser refuses before there is a request, in the same shape as all other errors. */
function refuseConnection (fault: Error & { code?: string }, socket: Socket & { _httpMessage?: ServerResponse | null }): void {
  // Answers go out in the order of the requests: this one must not be taken for that of a create which still waits. Node
  // has no public name for the answer that is next; its own handler of such faults asks for the same.
  const next = socket._httpMessage
  if (next?.req.complete === true && !socket.destroyed) {
    next.once('close', () => refuseConnection(fault, socket))
    return
  }
  if (socket.writable && fault.code !== 'ECONNRESET') {
    const [status, error, message] = apiErrors[connectionErrors[fault.code ?? ''] ?? 'requestMalformed']
    const body = JSON.stringify({ error, message })
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`)
  }
  socket.destroySoon()
}
