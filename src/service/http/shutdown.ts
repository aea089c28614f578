import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import type { LastResponses } from './malformed-http.js'

/** Milliseconds without a new request after which none is expected on an idle connection. */
const QUIET_MS = 500
const CHECK_MS = 50

/** Milliseconds until a shutdown is forced: less than the 30 seconds that Kubernetes grants by default. */
export function shutdownTimeoutMs (storeTimeout: number): number {
  return Math.min(storeTimeout + 5_000, 25_000)
}

/**
 * Closes servers without cutting off a request on an established connection. Each connection gets `Connection: close`
 * with its next response (RFC 9112, section 9.6), from Fastify for new requests. Node's own `close` would close an idle
 * connection immediately, even if a request is on its way.
 */
export async function drain (servers: readonly Server[], lastResponses: LastResponses): Promise<void> {
  let lastRequest = performance.now()
  for (const last of lastResponses.values()) if (last?.headersSent === false) last.setHeader('connection', 'close')
  const closed = Promise.all(servers.map(async server => {
    server.prependListener('request', ({ socket }) => {
      lastRequest = performance.now()
      // Of pipelined requests, the last one closes the connection.
      const before = lastResponses.get(socket)
      if (before?.headersSent === false) before.setHeader('connection', 'keep-alive')
    })
    // Connections on which no request has begun are not idle to Node.
    server.headersTimeout = 1_000
    await new Promise(resolve => NetServer.prototype.close.call(server, resolve))
  }))
  const timer = setInterval(() => {
    // A request that arrived while the process waited for the processor is read before the next immediate.
    setImmediate(() => {
      if (performance.now() - lastRequest > QUIET_MS) servers.forEach(server => server.closeIdleConnections())
    })
  }, CHECK_MS)
  await closed
  clearInterval(timer)
}
