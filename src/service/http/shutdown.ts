import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'

/** Milliseconds without a new request after which none is expected on an idle connection. */
const QUIET_MS = 500
const CHECK_MS = 50

/** Milliseconds until a shutdown is forced: less than the 30 seconds that Kubernetes grants by default. */
export function shutdownTimeoutMs (storeTimeout: number): number {
  return Math.min(storeTimeout + 5_000, 25_000)
}

/**
 * Closes a server without cutting off a request on an established connection: it waits until no connection is left,
 * which closes with a response that has `Connection: close`, or if it is idle. Node's own `close` would close an idle
 * connection immediately, even if a request is on its way.
 * @param listeners the server, and others that hand it connections
 */
export async function drain (server: Server, listeners: readonly NetServer[]): Promise<void> {
  let lastRequest = performance.now()
  server.on('request', () => { lastRequest = performance.now() })
  // Connections on which no request has begun are not idle to Node.
  server.headersTimeout = 1_000
  const listening = listeners.filter(listener => listener.listening)
  const closed = Promise.all(listening.map(listener => new Promise(resolve => NetServer.prototype.close.call(listener, resolve))))
  const timer = setInterval(() => {
    // A request that arrived while the process waited for the processor is read before the next immediate.
    setImmediate(() => { if (performance.now() - lastRequest > QUIET_MS) server.closeIdleConnections() })
  }, CHECK_MS)
  await closed
  clearInterval(timer)
}
