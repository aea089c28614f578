import type { Server } from 'node:http'
import https from 'node:https'
import { Server as NetServer } from 'node:net'
import type { Configuration } from '../../config/configuration.js'
import { writeInOnePiece } from './node-workarounds.js'

/** Fastify's options for its server, which is an HTTPS server if there is a certificate. */
export function serverOptions ({ tls, KEEP_ALIVE_TIMEOUT = 72_000 }: Partial<Configuration>) {
  // A slow client is disconnected: headers after 10 s, the whole request after 20 s.
  const options = { requestTimeout: 20_000, keepAliveTimeout: KEEP_ALIVE_TIMEOUT }
  // A request without Host is refused with a response in the Error shape.
  const http = { headersTimeout: 10_000, connectionsCheckingInterval: 2_000, requireHostHeader: false }
  // A connection without a handshake delays a shutdown, which is forced after 5 s at the earliest.
  return tls === undefined ? { ...options, http } : { ...options, https: { ...http, ...tls, handshakeTimeout: 5_000 } }
}

/** Sets what Node has no option for. */
export function configureServer (server: Server): void {
  // By default Node drops headers after 2,000, one of which could be a second Authorization. Their size is limited.
  server.maxHeadersCount = 0
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1); Node would send a 417 without a body.
  server.on('checkExpectation', (request, response) => { server.emit('request', request, response) })
  server.on(server instanceof https.Server ? 'secureConnection' : 'connection', writeInOnePiece)
}

/**
 * Closes a server without cutting off a request on an established connection. It waits until none is left: a connection
 * closes with a response that has `Connection: close`, or once no connection has had a new request for 500 ms. Node's
 * own `close` would close an idle one immediately, even if a request is on its way.
 * @param listeners the server, and others that hand it connections
 */
export async function drain (server: Server, listeners: readonly NetServer[]): Promise<void> {
  let lastRequest = performance.now()
  server.on('request', () => { lastRequest = performance.now() })
  // Connections on which no request has begun are not idle to Node.
  server.headersTimeout = 1_000
  const timer = setInterval(() => {
    // A request that arrived while the process waited for the processor is read before the next immediate.
    setImmediate(() => { if (performance.now() - lastRequest > 500) server.closeIdleConnections() })
  }, 50)
  await Promise.all(listeners.filter(({ listening }) => listening)
    .map(listener => new Promise(resolve => NetServer.prototype.close.call(listener, resolve))))
  clearInterval(timer)
}
