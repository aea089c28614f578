import { IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** An unread body of at most this many bytes is discarded to keep the connection open; for more it is not worth it. */
const SKIPPED_BYTES = 65_536
// The limits of nginx's lingering_close: 5 s of silence, and 30 s in all. The limit in bytes bounds what a client can
// make the server read.
const SILENCE_MS = 5_000
const LINGER_MS = 30_000
const LINGER_BYTES = 67_108_864

/**
 * Prepares a response to a request whose body is not read. A client may send the whole body before it reads the
 * response, and would never read it if the connection were closed by then: bytes that arrive at a closed socket reset
 * it.
 *
 * The connection stays open if the rest of the body is known to be short; otherwise it is closed, lingering, after this
 * response.
 * @param keepAlive false to close the connection in any case
 */
export function leaveBodyUnread (request: IncomingMessage, response: ServerResponse, keepAlive = true): void {
  // HTTP/2 resets only the stream, and an injected request has no connection.
  if (!(request instanceof IncomingMessage) || request.complete) return
  const { headers, socket } = request
  const unread = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity
  if (unread === 0) return
  lingerOnClose(socket)
  // After `Expect: 100-continue` the client may or may not send its body (RFC 9110, section 10.1.1).
  if (!keepAlive || unread > SKIPPED_BYTES || headers.expect !== undefined) endConnection(request, response)
}

/** Makes the response to a request the last of its connection, and discards all further input. */
export function endConnection (request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('connection', 'close')
  if (!(request instanceof IncomingMessage)) return
  lingerOnClose(request.socket)
  discardInput(request.socket)
}

/**
 * Makes the response to a request with an `Upgrade` header the last of its connection. Node drops the rest of the
 * segment behind such a request, and a client would match a later response with a dropped request.
 */
export function refuseUpgrade (request: IncomingMessage, response: ServerResponse): void {
  if (!(request instanceof IncomingMessage)) return
  const { socket } = request
  response.setHeader('connection', 'close')
  lingerOnClose(socket)
  request.once('end', () => { discardInput(socket) })
}

/** Delays closing a connection after its last response until the client has nothing more to send, within limits. */
export function lingerOnClose (socket: Socket): void {
  socket.destroySoon = destroyLingering
}

function destroyLingering (this: Socket): void {
  const destroy = () => { this.destroy() }
  discardInput(this)
  this.resume().end()
  this.setTimeout(SILENCE_MS, destroy)
  const timer = setTimeout(destroy, LINGER_MS)
  timer.unref()
  this.once('close', () => { clearTimeout(timer) })
}

const discarding = new WeakSet<Socket>()

/** Discards all further input of a connection: it is not a request (RFC 9112, section 9.6). */
export function discardInput (socket: Socket): void {
  if (discarding.has(socket)) return
  discarding.add(socket)
  let bytes = 0
  // The listener of Node's HTTP parser, which still parses the current segment: a request in it would be executed
  // without a response.
  socket.removeAllListeners('data')
  const parser: unknown = Reflect.get(socket, 'parser')
  if (parser instanceof Object) Reflect.set(parser, 'onIncoming', () => 0)
  socket.on('data', ({ length }: Buffer) => {
    bytes += length
    if (bytes > LINGER_BYTES) socket.destroy()
  })
  // The parser may have paused the stream. It reads from the handle directly, so the stream still waits for a chunk
  // before it reads again.
  socket.resume().push('')
}

/** Whether the input of a connection is discarded. */
export function isDiscarded (socket: Socket): boolean {
  return discarding.has(socket)
}
