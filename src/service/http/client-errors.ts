import type { Socket } from 'node:net'
import type { ConnectionError, FastifyBaseLogger, FastifyReply } from 'fastify'
import { ApiError, type ErrorName } from '../../api-error.js'
import { errorHeaders, sendError } from '../../route/errors.js'

const errorNames: Readonly<Record<string, ErrorName>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
  HPE_HEADER_OVERFLOW: 'headersTooLarge'
}

// An import of `node:http`, which has them, loads Node's WebSocket and fetch: a tenth of the time of a start.
const reasonPhrases: Readonly<Record<number, string>> = {
  400: 'Bad Request', 408: 'Request Timeout', 431: 'Request Header Fields Too Large'
}

/**
 * Makes Fastify's `clientErrorHandler`, which responds in the Error shape to what Node's parser refuses, and closes the
 * connection. It sends nothing that a client could take for the response to a request that is being executed.
 * @param latestReplies the latest reply on each connection, which may have been sent
 * @param accessLog gets a line for each response to what is not a request
 */
export function clientErrorHandler (
  latestReplies: WeakMap<Socket, FastifyReply>, newId: () => string, accessLog?: FastifyBaseLogger
) {
  return function handleClientError ({ code }: ConnectionError, socket: Socket): void {
    const isRefusal = code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT'
    // A client could take a response for that to a request that it sends at this moment.
    const isUnused = socket.bytesRead === 0
    if (!socket.writable || !isRefusal || isUnused) {
      socket.destroy()
      return
    }

    const error = new ApiError(errorNames[code] ?? 'requestMalformed')
    const latest = latestReplies.get(socket)
    const isReceived = latest?.request.raw.complete === true
    const isAnswered = isReceived && latest.raw.writableFinished
    if (latest === undefined || isAnswered) return respond(error, socket)

    if (isReceived) {
      // A client may have sent a body without its length: the connection closes after the response.
      socket.pause()
      latest.raw.once('close', () => { socket.destroySoon() })
      return
    }
    // Of pipelined requests, only the one whose turn it is has the socket.
    const isInTurn = latest.raw.socket === socket
    if (!isInTurn || latest.raw.headersSent) {
      socket.destroy()
      return
    }
    // Its body is at fault. Node aborts no request that has its response, so the body is released here.
    socket.once('close', () => { latest.request.raw.destroy() })
    sendError(error, latest.request, latest.header('connection', 'close'))
  }

  /** Responds to what is not a request, between requests. */
  function respond (error: ApiError, socket: Socket): void {
    const { statusCode, message } = error
    const reqId = newId()
    accessLog?.info({ reqId, statusCode, remoteAddress: socket.remoteAddress ?? 'unix' }, 'request')
    const body = JSON.stringify({ error: error.error, message })
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      ...errorHeaders(error, reqId),
      connection: 'close'
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`HTTP/1.1 ${statusCode} ${reasonPhrases[statusCode]}\r\n${lines.join('')}\r\n${body}`)
    socket.destroySoon()
  }
}
