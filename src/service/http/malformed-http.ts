import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { ApiError, errorHeaders, type ErrorName } from '../../route/errors.js'

/** The last response of each open connection, which may have been sent; undefined before the first. */
export type LastResponses = Map<Socket, ServerResponse | undefined>

const errorNames: Readonly<Record<string, ErrorName>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
  HPE_HEADER_OVERFLOW: 'headersTooLarge'
}

/**
 * Makes a server respond in the Error shape to what Node's parser refuses, and close the connection.
 * @param idOf returns the id of a request, or a new one for what is not a request
 * @param accessLog gets a line for each such response, which has no other line
 */
export function refuseMalformedHttp (
  server: Server, lastResponses: LastResponses, idOf: (of?: IncomingMessage) => string, accessLog?: FastifyBaseLogger
): void {
  function refuse (error: ApiError, socket: Socket): void {
    const last = lastResponses.get(socket)
    if (last === undefined) return respond(error, socket)
    const { req, headersSent } = last
    if (!last.writableFinished && (req.complete || headersSent)) {
      // A client must not match this response with an earlier request: responses have the order of the requests.
      last.once('close', () => { refuse(error, socket) })
      socket.pause()
    } else if (req.complete) {
      respond(error, socket)
    } else if (headersSent) {
      // This was the body of a request that has its response.
      socket.destroy()
    } else {
      // Releases what was received of the body: Node aborts no request that has its response.
      socket.once('close', () => { req.destroy() })
      const { headers, body } = responseOf(error, idOf(req))
      last.writeHead(error.statusCode, headers).end(body)
    }
  }

  function respond (error: ApiError, socket: Socket): void {
    if (!socket.writable) return
    const { statusCode } = error
    const reqId = idOf()
    const { headers, body } = responseOf(error, reqId)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    accessLog?.info({ reqId, statusCode, remoteAddress: socket.remoteAddress ?? 'unix' }, 'request')
    socket.write(`HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}\r\n${lines.join('')}\r\n${body}`)
    socket.destroySoon()
  }

  const track = (socket: Socket): void => {
    lastResponses.set(socket, undefined)
    socket.once('close', () => lastResponses.delete(socket))
  }
  server.on('connection', track).on('secureConnection', track)
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
    // Otherwise the connection is broken, and no response can be sent.
    if (!code.startsWith('HPE_') && code !== 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroy()
    else refuse(new ApiError(errorNames[code] ?? 'requestMalformed'), socket)
  })
}

function responseOf (error: ApiError, id: string) {
  const body = JSON.stringify({ error: error.error, message: error.message })
  return { body, headers: { 'content-type': 'application/json; charset=utf-8', ...errorHeaders(error, id), 'content-length': Buffer.byteLength(body), connection: 'close' } }
}
