import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { chmod, stat, unlink } from 'node:fs/promises'
import type { Server } from 'node:http'
import https from 'node:https'
import { connect, createServer, type AddressInfo, type Server as NetServer } from 'node:net'
import { codeOf } from '../../error-message.js'
import { ConfigurationError, isSocketPath } from '../../config/configuration.js'

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
    const listener = listeners.length === 0 ? server : createServer(options, socket => { server.emit('connection', socket) })
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
  const refused = (fault: string) => new ConfigurationError(`HOST is ${JSON.stringify(path)}, ${fault}: it must be a path that is not in use`)
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return
  if (!found.isSocket()) throw refused('which is a file that is not a socket')
  const socket = connect(path)
  const outcome = await once(socket, 'connect').catch(codeOf)
  socket.destroy()
  // No other error proves that no process listens: a permission may be missing.
  if (outcome !== 'ECONNREFUSED') throw refused('which another process listens on')
  await unlink(path)
}
