import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { chmod, stat, unlink } from 'node:fs/promises'
import type { Server } from 'node:http'
import https from 'node:https'
import { connect, createServer, Server as NetServer, type AddressInfo } from 'node:net'
import { codeOf } from '../../error-message.js'
import { ConfigurationError, isSocketPath, type Configuration } from '../configuration/configuration.js'
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
 * Listens on a Unix socket, or on every address of a host, as Fastify does for `localhost`.
 * @param port 0 for a free port, the same one on every address
 * @returns the server, and for each further address a listener that hands its connections to the server
 */
export async function listenOn (server: Server, host: string, port: number): Promise<NetServer[]> {
  if (isSocketPath(host)) {
    await once(server.listen(host), 'listening')
    // Allows the owner and the group to connect, for example a proxy.
    await chmod(host, 0o660)
    return [server]
  }
  // Half-open connections are for HTTP, not for TLS, as Node's own servers have it.
  const options = { allowHalfOpen: !(server instanceof https.Server), noDelay: true }
  const listeners: NetServer[] = []
  let unavailable: unknown
  for (const address of new Set((await lookup(host, { all: true })).map(({ address }) => address))) {
    const isFirst = listeners.length === 0
    const listener = isFirst ? server : createServer(options, socket => { server.emit('connection', socket) })
    try {
      await once(listener.listen(port, address), 'listening')
      listeners.push(listener)
      port = (listener.address() as AddressInfo).port
    } catch (error) {
      // A name may have an address of a family that the machine lacks, such as ::1.
      if (codeOf(error) !== 'EADDRNOTAVAIL' && codeOf(error) !== 'EAFNOSUPPORT') throw error
      unavailable = error
    }
  }
  if (listeners.length === 0) throw unavailable
  return listeners
}

/** Removes the socket that a killed process left behind; throws a ConfigurationError if no socket can be made there. */
export async function removeStaleSocket (path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return
  const socket = connect(path)
  const outcome = await once(socket, 'connect').catch(codeOf)
  socket.destroy()
  // No other error proves that no process listens: a permission may be missing.
  if (!found.isSocket() || outcome !== 'ECONNREFUSED') {
    throw new ConfigurationError(`HOST is ${JSON.stringify(path)}, which is a file or another process's socket: it must be a path that is not in use`)
  }
  await unlink(path)
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
