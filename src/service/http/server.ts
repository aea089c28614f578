import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { chmod, stat, unlink } from 'node:fs/promises'
import type { Server } from 'node:http'
import https from 'node:https'
import { connect, Server as NetServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
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

/**
 * Makes an app listen, as its `listen` does it.
 * @returns its servers besides `app.server`: for `localhost`, Fastify makes one for each address
 */
export async function listen (app: FastifyInstance, host: string, port: number): Promise<Server[]> {
  const servers: Server[] = []
  // https://nodejs.org/api/diagnostics_channel.html#net; Fastify does not tell its further servers.
  const channel = 'tracing:net.server.listen:asyncEnd'
  const add = (message: unknown): void => { servers.push((message as { server: Server }).server) }
  subscribe(channel, add)
  try {
    await app.listen(isSocketPath(host) ? { path: host } : { host, port })
  } finally {
    unsubscribe(channel, add)
  }
  // Allows the owner and the group to connect, for example a proxy.
  if (isSocketPath(host)) await chmod(host, 0o660)
  for (const server of servers) {
    // Fastify's handler is only on `app.server`.
    if (server !== app.server) server.on('clientError', (...error) => { app.server.emit('clientError', ...error) })
    server.on(server instanceof https.Server ? 'secureConnection' : 'connection', writeInOnePiece)
  }
  return servers.filter(server => server !== app.server)
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
 * Closes servers without cutting off a request on an established connection. It waits until none is left: a connection
 * closes with a response that has `Connection: close`, or once no connection has had a new request for 500 ms. Node's
 * own `close` would close an idle one immediately, even if a request is on its way.
 */
export async function drain (servers: readonly Server[]): Promise<void> {
  let lastRequest = performance.now()
  for (const server of servers) {
    server.on('request', () => { lastRequest = performance.now() })
    // Connections on which no request has begun are not idle to Node.
    server.headersTimeout = 1_000
  }
  const timer = setInterval(() => {
    // A request that arrived while the process waited for the processor is read before the next immediate.
    setImmediate(() => {
      if (performance.now() - lastRequest > 500) for (const server of servers) server.closeIdleConnections()
    })
  }, 50)
  await Promise.all(servers.map(server => new Promise(resolve => NetServer.prototype.close.call(server, resolve))))
  clearInterval(timer)
}
