import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'

type Writev = NonNullable<Socket['_writev']>
const writev = Socket.prototype._writev

/**
 * Makes the responses on the connection of a request be written by one `write` each. Node 20 and 22 end a response with
 * an empty chunk (`OutgoingMessage.end`), and so use `writev`: 4 % of the main thread's processor time of a create
 * request. Node 24.21 and 26 do not.
 */
export function writeInOnePiece (request: IncomingMessage): void {
  // HTTP/2 writes frames, and an injected request has no connection.
  if (!(request instanceof IncomingMessage)) return
  const { socket } = request
  // Not if it is set already, by this or by another library.
  if (socket instanceof Socket && socket._writev === writev) socket._writev = withoutEmptyChunk
}

/** As `Writable._writev`: any other chunks are written as Node writes them. */
function withoutEmptyChunk (this: Socket, ...[chunks, done]: Parameters<Writev>): void {
  const [first, second] = chunks
  const isOne = first !== undefined && second?.chunk.length === 0 && chunks.length === 2
  if (isOne) this._write(first.chunk, first.encoding, done)
  else writev?.call(this, chunks, done)
}
