import { STATUS_CODES, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyReply } from 'fastify'
import { ApiError, type ErrorName } from '../../http/error-codes.js'
import { errorHeaders } from '../../http/error-handler.js'

/** The last request of each connection. */
export class LastRequests extends Map<Socket, { raw: ServerResponse, reply: WeakRef<FastifyReply> }> {
  add (reply: FastifyReply): void {
    const { raw, request } = reply
    // A reply holds the body of its request, which must not stay in memory until the connection is used again.
    this.set(request.raw.socket, { raw, reply: new WeakRef(reply) })
  }
}

const errorNames: Readonly<Record<string, ErrorName>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
  HPE_HEADER_OVERFLOW: 'headersTooLarge'
}

/**
 * Makes a server respond in the Error shape to what Node's parser refuses, and close the connection.
 * @param nextId returns the id of a response to what is not a request
 * @param accessLog gets a line for each such response, which has no other line
 */
export function refuseMalformedHttp (
  server: Server, lastRequests: LastRequests, nextId: () => string, accessLog: FastifyBaseLogger | undefined
): void {
  function refuse (error: ApiError, socket: Socket): void {
    const last = lastRequests.get(socket)
    if (last === undefined) return respond(error, socket)
    const { raw, reply } = last
    if (!raw.writableFinished && (raw.req.complete || raw.headersSent)) {
      // A client must not match this response with an earlier request: responses have the order of the requests.
      raw.once('close', () => { refuse(error, socket) })
      socket.pause()
    } else if (raw.req.complete) {
      respond(error, socket)
    } else if (raw.headersSent) {
      // This was the body of a request that has its response.
      socket.destroy()
    } else {
      // Releases what was received of the body: Node aborts no request that has its response.
      socket.once('close', () => { raw.req.destroy() })
      raw.setHeader('connection', 'close')
      reply.deref()?.send(error)
    }
  }

  function respond (error: ApiError, socket: Socket): void {
    if (!socket.writable) return
    const { statusCode } = error
    const reqId = nextId()
    const body = JSON.stringify({ error: error.error, message: error.message })
    const headers = { ...errorHeaders(error, reqId), 'content-length': Buffer.byteLength(body), connection: 'close' }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    accessLog?.info({ reqId, statusCode, remoteAddress: socket.remoteAddress ?? 'unix' }, 'request')
    socket.write(`HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}\r\n${lines.join('')}\r\n${body}`)
    socket.destroySoon()
  }

  const forget = (socket: Socket): void => { socket.once('close', () => lastRequests.delete(socket)) }
  server.on('connection', forget).on('secureConnection', forget)
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
    // Otherwise the connection is broken, and no response can be sent.
    if (!code.startsWith('HPE_') && code !== 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroy()
    else refuse(new ApiError(errorNames[code] ?? 'requestMalformed'), socket)
  })
}
