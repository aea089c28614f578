import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply } from 'fastify'

/**
 * Logs one line for each request, without its body, its credentials and its query, which may be a token; without a
 * status code if the client disconnected before its response.
 */
export function accessLog (app: FastifyInstance, log: FastifyBaseLogger): void {
  /** The requests without a line, by connection, each with the address of its client. */
  const pending = new WeakMap<Socket, Map<FastifyReply, string>>()

  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw
    const requests = pending.get(socket) ?? track(socket)
    // A closed socket has no address.
    requests.set(reply, request.ip ?? 'unix')
    done()
  })

  app.addHook('onResponse', (request, reply, done) => {
    const requests = pending.get(request.raw.socket)
    const remoteAddress = requests?.get(reply)
    if (requests?.delete(reply)) logRequest(reply, remoteAddress, reply.statusCode)
    done()
  })

  function track (socket: Socket): Map<FastifyReply, string> {
    const requests = new Map<FastifyReply, string>()
    pending.set(socket, requests)
    // Node emits no event for a pipelined request whose client disconnects before its turn.
    socket.once('close', () => {
      for (const [reply, remoteAddress] of requests) logRequest(reply, remoteAddress)
      requests.clear()
    })
    return requests
  }

  function logRequest (reply: FastifyReply, remoteAddress?: string, statusCode?: number): void {
    const { id: reqId, method, url } = reply.request
    log.info({
      reqId,
      method,
      url: url.split('?', 1)[0],
      statusCode,
      responseTime: Number(reply.elapsedTime.toFixed(3)),
      remoteAddress
    }, 'request')
  }
}
