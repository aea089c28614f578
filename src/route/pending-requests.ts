import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { Bag } from '../pending/bag.js'
import { PendingRequest, type PendingLimits } from '../pending/pending-request.js'
import { watchRest, whenOver } from '../pending/request-end.js'

/** The decorator of a request that holds its `PendingRequest`. */
export const PENDING = 'plantStorePending'

/**
 * Makes the first hook of the route, which gives each request its `PendingRequest`; that ends with it, however it ends.
 * When the app closes, requests without a response within `storeTimeout` milliseconds lose their connection.
 */
export function pendingRequests (
  app: FastifyInstance, limits: PendingLimits, storeTimeout: number
): onRequestHookHandler {
  const open = new Bag<PendingRequest>()
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
    setTimeout(() => { for (const { reply } of [...open.items]) reply?.raw.destroy() }, storeTimeout).unref()
  })
  app.addHook('onError', (request, reply, _error, done) => {
    const { keepsConnection } = request.getDecorator<PendingRequest | null>(PENDING) ?? {}
    if (keepsConnection === true && !isClosing) {
      reply.removeHeader('connection')
      // HTTP/2 has no such header. Without it, a client of HTTP/1.0 would wait until the connection closes. A later
      // hook of the host may set another value here.
      const value = reply.raw.shouldKeepAlive ? 'keep-alive' : 'close'
      if (request.raw.httpVersionMajor === 1) reply.raw.setHeader('connection', value)
    }
    done()
  })

  return function expectBody ({ raw }, reply, done) {
    const pending = new PendingRequest(limits, reply)
    reply.request.setDecorator(PENDING, pending)
    open.add(pending)
    whenOver(raw, reply.raw, () => {
      pending.end()
      open.delete(pending)
      if (!raw.readableEnded) watchRest(raw)
    })
    done()
  }
}
