import { executionAsyncResource } from 'node:async_hooks'
import { Socket } from 'node:net'

const kept: { tick?: object } = {}

/**
 * Keeps what `process.nextTick` queues, once. On Node 20, a garbage collection during startup can discard V8's hidden
 * class of such objects; from then on a create request takes 5 to 10 % more processor time.
 */
export function keepTick (): void {
  process.nextTick(() => { kept.tick = executionAsyncResource() })
}

/**
 * Makes each response on a connection be written by one `write`. Node 20 and 22 end a response with an empty chunk, and
 * so use `writev`: 4 to 12 % of the main thread's processor time of a create request. Node 24.21 and 26 do not.
 */
export function writeInOnePiece (socket: Socket): void {
  socket._writev = withoutEmptyChunk
}

const withoutEmptyChunk: NonNullable<Socket['_writev']> = function (this: Socket, chunks, done) {
  const [first, last] = chunks
  const isOne = first !== undefined && last?.chunk.length === 0 && chunks.length === 2
  if (isOne) this._write(first.chunk, first.encoding, done)
  else Socket.prototype._writev?.call(this, chunks, done)
}
