import http, { type RequestListener, type Server } from 'node:http'
import https from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import type { TlsPair } from '../../config/tls-pair.js'

const settings = {
  // A slow client is disconnected: headers after 10 s, the whole request after 20 s.
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  connectionsCheckingInterval: 2_000,
  keepAliveTimeout: 72_000,
  maxHeaderSize: 16_384,
  // protocolError refuses it with a response in the Error shape.
  requireHostHeader: false
}

/** Makes a server, HTTPS if there is a certificate. */
export function createHttpServer (handler: RequestListener, tls: TlsPair | undefined): Server {
  const server = tls === undefined
    ? http.createServer(settings, handler)
    // A connection without a handshake delays a shutdown, which is forced after 5 s at the earliest.
    : https.createServer({ ...settings, ...secureContext(tls), handshakeTimeout: 5_000 }, handler)
  // By default Node silently drops headers after 2,000, one of which could be a second Authorization. maxHeaderSize
  // limits them.
  server.maxHeadersCount = 0
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1); Node would send a 417 without a body.
  return server.on('checkExpectation', (request, response) => { server.emit('request', request, response) })
}

/** Serves another certificate on new connections. */
export function changeCertificate (server: Server, tls: TlsPair): void {
  if (server instanceof https.Server) server.setSecureContext(secureContext(tls))
}

/** RFC 9325, section 3.1.1: TLS 1.2 or later. The ciphers are Node's, which follow its security releases. */
function secureContext ({ cert, key }: TlsPair): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2' }
}
