import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyBaseLogger, FastifyReply } from 'fastify'
import { ApiError, type ErrorName } from '../../api-error.js'
import { errorHeaders, sendError } from '../../route/errors.js'

const errorNames: Readonly<Record<string, ErrorName>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
  HPE_HEADER_OVERFLOW: 'headersTooLarge'
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
    const error = new ApiError(errorNames[code] ?? 'requestMalformed')
    const latest = latestReplies.get(socket)
    const isRefusal = code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT'
    const isReceived = latest?.request.raw.complete === true
    const isAnswered = isReceived && latest.raw.writableFinished
    if (!socket.writable || !isRefusal) {
      socket.destroy()
    } else if (latest === undefined || isAnswered) {
      respond(error, socket)
    } else if (isReceived) {
      // After the response to a request that was received before the fault.
      socket.pause()
      latest.raw.once('close', () => { socket.destroySoon() })
    } else if (!latest.raw.headersSent && latest.raw.socket === socket) {
      // The request whose body is at fault. Node aborts no request that has its response, so its body is released here.
      socket.once('close', () => { latest.request.raw.destroy() })
      sendError(error, latest.request, latest.header('connection', 'close'))
    } else {
      // The body of a request whose response has begun, or has to wait for that of an earlier request.
      socket.destroy()
    }
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
    socket.write(`HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}\r\n${lines.join('')}\r\n${body}`)
    socket.destroySoon()
  }
}
