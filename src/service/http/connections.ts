import type { Server } from 'node:http'
import type { Socket } from 'node:net'

const connections = new WeakMap<Server, Set<Socket>>()

/** Keeps the open connections of a server, for `closeConnections`. */
export function trackConnections (server: Server): void {
  const sockets = new Set<Socket>()
  connections.set(server, sockets)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => { sockets.delete(socket) })
  })
}

/** Closes all connections. Node's `closeAllConnections` leaves those open whose TLS handshake is not complete. */
export function closeConnections (server: Server): void {
  for (const socket of connections.get(server) ?? []) socket.destroy()
}
