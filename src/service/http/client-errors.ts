import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyBaseLogger, FastifyReply } from 'fastify'
import { ApiError, errorHeaders, type ErrorName } from '../../route/errors.js'

/** The latest reply on each connection, which may have been sent. */
export type LatestReplies = WeakMap<Socket, FastifyReply>

const errorNames: Readonly<Record<string, ErrorName>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
  HPE_HEADER_OVERFLOW: 'headersTooLarge'
}

/**
 * Makes Fastify's `clientErrorHandler`, which responds in the Error shape to what Node's parser refuses, and closes the
 * connection. It sends nothing that a client could take for the response to a request that is being executed.
 * @param newId makes the id of what is not a request
 * @param accessLog gets a line for each such response, which has no other line
 */
export function clientErrorHandler (latestReplies: LatestReplies, newId: () => string, accessLog?: FastifyBaseLogger) {
  return function handleClientError ({ code }: ConnectionError, socket: Socket): void {
    // Otherwise the connection is broken, and no response can be sent.
    const isAnswerable = code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT'
    if (!isAnswerable || !socket.writable) {
      socket.destroy()
      return
    }
    const error = new ApiError(errorNames[code] ?? 'requestMalformed')
    const latest = latestReplies.get(socket)
    if (latest === undefined) return respond(error, socket)
    const { raw, request: { id, raw: { complete } } } = latest
    if (complete && raw.writableFinished) {
      respond(error, socket)
    } else if (complete) {
      socket.pause()
      raw.once('close', () => { socket.destroySoon() })
    } else if (raw.headersSent || raw.socket !== socket) {
      // This was the body of a request that has its response, or has to wait for that of another one.
      socket.destroy()
    } else {
      // Releases what was received of the body: Node aborts no request that has its response.
      socket.once('close', () => { raw.req.destroy() })
      const { headers, body } = responseTo(error, id)
      raw.writeHead(error.statusCode, headers).end(body)
    }
  }

  function respond (error: ApiError, socket: Socket): void {
    const { statusCode } = error
    const reqId = newId()
    const { headers, body } = responseTo(error, reqId)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    accessLog?.info({ reqId, statusCode, remoteAddress: socket.remoteAddress ?? 'unix' }, 'request')
    socket.write(`HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}\r\n${lines.join('')}\r\n${body}`)
    socket.destroySoon()
  }
}

function responseTo (error: ApiError, id: string) {
  const body = JSON.stringify({ error: error.error, message: error.message })
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...errorHeaders(error, id),
    connection: 'close'
  }
  return { headers, body }
}
