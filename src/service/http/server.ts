import type { Server } from 'node:http'
import https from 'node:https'
import { Server as NetServer } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { Configuration } from '../../config/configuration.js'
import type { TlsPair } from '../../config/tls-pair.js'
import { writeInOnePiece } from './node-workarounds.js'

const settings = {
  // A slow client is disconnected: headers after 10 s, the whole request after 20 s.
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16_384,
  // A request without Host is refused with a response in the Error shape.
  requireHostHeader: false
}

/** Fastify's options for its server, which is an HTTPS server if there is a certificate. */
export function serverOptions ({ tls, KEEP_ALIVE_TIMEOUT = 72_000 }: Partial<Configuration>) {
  const options = { requestTimeout: 20_000, keepAliveTimeout: KEEP_ALIVE_TIMEOUT }
  if (tls === undefined) return { ...options, http: settings }
  // A connection without a handshake delays a shutdown, which is forced after 5 s at the earliest.
  return { ...options, https: { ...settings, ...secureContext(tls), handshakeTimeout: 5_000 } }
}

/** Sets what Node has no option for. */
export function configureServer (server: Server): void {
  // By default Node silently drops headers after 2,000, one of which could be a second Authorization. maxHeaderSize
  // limits them.
  server.maxHeadersCount = 0
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1); Node would send a 417 without a body.
  server.on('checkExpectation', (request, response) => { server.emit('request', request, response) })
  server.on(server instanceof https.Server ? 'secureConnection' : 'connection', writeInOnePiece)
}

/** Serves another certificate on new connections. */
export function changeCertificate (server: Server, tls: TlsPair): void {
  if (server instanceof https.Server) server.setSecureContext(secureContext(tls))
}

/** RFC 9325, section 3.1.1: TLS 1.2 or later. The ciphers are Node's, which follow its security releases. */
function secureContext ({ cert, key }: TlsPair): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2' }
}

/** Milliseconds until a shutdown is forced: less than the 30 seconds that Kubernetes grants by default. */
export function shutdownTimeoutMs (storeTimeout: number): number {
  return Math.min(storeTimeout + 5_000, 25_000)
}

/** Milliseconds without a new request after which none is expected on an idle connection. */
const QUIET_MS = 500

/**
 * Closes a server without cutting off a request on an established connection. It waits until none is left: a connection
 * closes with a response that has `Connection: close`, or when it is idle. Node's own `close` would close an idle one
 * immediately, even if a request is on its way.
 * @param listeners the server, and others that hand it connections
 */
export async function drain (server: Server, listeners: readonly NetServer[]): Promise<void> {
  let lastRequest = performance.now()
  server.on('request', () => { lastRequest = performance.now() })
  // Connections on which no request has begun are not idle to Node.
  server.headersTimeout = 1_000
  const closed = listeners.filter(({ listening }) => listening)
    .map(listener => new Promise(resolve => NetServer.prototype.close.call(listener, resolve)))
  const timer = setInterval(() => {
    // A request that arrived while the process waited for the processor is read before the next immediate.
    setImmediate(() => { if (performance.now() - lastRequest > QUIET_MS) server.closeIdleConnections() })
  }, 50)
  await Promise.all(closed)
  clearInterval(timer)
}
