import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The socket of an HTTP connection. Node has no public property for the response that is next on it. */
export type HttpSocket = Socket & { _httpMessage?: ServerResponse | null }

const connections = new WeakMap<Server, Set<HttpSocket>>()

/** Keeps the open connections of a server, for the functions below. */
export function trackConnections (server: Server): void {
  const sockets = new Set<HttpSocket>()
  const track = (socket: Socket): void => {
    sockets.add(socket)
    socket.once('close', () => { sockets.delete(socket) })
  }
  connections.set(server, sockets)
  // A TLS connection has two sockets: its requests are on the second one.
  server.on('connection', track).on('secureConnection', track)
}

/** The responses that are next on the connections of a server, not sent completely. */
export function pendingResponses (server: Server): ServerResponse[] {
  return [...connections.get(server) ?? []].flatMap(({ _httpMessage }) => _httpMessage ?? [])
}

/** Closes all connections. Node's `closeAllConnections` leaves those open whose TLS handshake is not complete. */
export function closeConnections (server: Server): void {
  for (const socket of connections.get(server) ?? []) socket.destroy()
}
