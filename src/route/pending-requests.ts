import type { Socket } from 'node:net'
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { Bag } from '../pending/bag.js'
import { PendingRequest, type PendingLimits } from '../pending/pending-request.js'
import { watchRest } from '../pending/rest-of-body.js'

/** The decorator of a request that holds its `PendingRequest`. */
export const PENDING = 'plantStorePending'

/** Of each connection, what ends its pipelined requests. */
const pipelined = new WeakMap<Socket, Set<() => void>>()

/**
 * Makes the `onRequest` hook that gives each request its `PendingRequest`, which ends with it, however that ends. When
 * the app closes, requests without a response within `storeTimeout` milliseconds lose their connection.
 */
export function pendingRequests (
  app: FastifyInstance, limits: PendingLimits, storeTimeout: number
): onRequestHookHandler {
  const open = new Bag<PendingRequest>()
  app.addHook('preClose', async () => {
    setTimeout(() => { for (const { reply } of [...open.items]) reply?.raw.destroy() }, storeTimeout).unref()
  })

  return function expectBody ({ raw }, reply, done) {
    const pending = new PendingRequest(limits, reply)
    reply.request.setDecorator(PENDING, pending)
    // The client has left while a hook of the host, or its function for tokens, was waiting: no event will follow.
    if (raw.socket?.destroyed) {
      pending.end()
      return done()
    }
    open.add(pending)
    function end (): void {
      pending.end()
      open.delete(pending)
    }
    // On Node 20 and 22, a response that waits for its turn emits no `close` if the connection closes.
    const endings = reply.raw.socket === null ? endingsOf(raw.socket) : undefined
    endings?.add(end)
    reply.raw.on('close', () => {
      end()
      endings?.delete(end)
      if (!raw.readableEnded) watchRest(raw)
    })
    done()
  }
}

/** One listener serves all requests of a connection: of more than ten, Node would warn. */
function endingsOf (connection: Socket): Set<() => void> {
  const known = pipelined.get(connection)
  if (known !== undefined) return known
  const endings = new Set<() => void>()
  pipelined.set(connection, endings)
  connection.once('close', () => { for (const end of endings) end() })
  return endings
}
