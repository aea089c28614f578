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
    if (isBroken(code, socket)) {
      socket.destroy()
    } else if (latest === undefined || isAnswered(latest)) {
      respond(error, socket)
    } else if (isReceived(latest)) {
      closeAfter(latest, socket)
    } else if (canAnswer(latest, socket)) {
      answerInstead(error, latest, socket)
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

/** The connection cannot be written, or its fault is neither the parser's nor a timeout. */
function isBroken (code: string, socket: Socket): boolean {
  const isRefusal = code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT'
  return !socket.writable || !isRefusal
}

function isReceived ({ request }: FastifyReply): boolean {
  return request.raw.complete
}

function isAnswered (reply: FastifyReply): boolean {
  return isReceived(reply) && reply.raw.writableFinished
}

/** No response has begun, and it is the turn of this one on the connection. */
function canAnswer ({ raw }: FastifyReply, socket: Socket): boolean {
  return !raw.headersSent && raw.socket === socket
}

/** Closes the connection after the response to a request that was received before the fault. */
function closeAfter (reply: FastifyReply, socket: Socket): void {
  socket.pause()
  reply.raw.once('close', () => { socket.destroySoon() })
}

/** Responds to the request whose body is at fault. */
function answerInstead (error: ApiError, reply: FastifyReply, socket: Socket): void {
  // Releases what was received of the body: Node aborts no request that has its response.
  socket.once('close', () => { reply.request.raw.destroy() })
  sendError(error, reply.request, reply.header('connection', 'close'))
}
