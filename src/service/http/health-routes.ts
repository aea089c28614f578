import { once } from 'node:events'
import type { FastifyInstance } from 'fastify'
import { messageOf } from '../../error-message.js'
import { ApiError } from '../../http/error-codes.js'
import { writeError } from '../../http/error-handler.js'
import type { PlantStore } from '../../stores/plant-store.js'
import type { EventLoopLag } from './event-loop-lag.js'

const READY_TIMEOUT_MS = 3_000

/** Whether the service can take plants. */
export class Health {
  readonly #store: PlantStore
  readonly #eventLoop: EventLoopLag | undefined
  #closing = false
  /** The check of the store that is running. All requests share it, as clients without a token may send any number. */
  #check: Promise<string | undefined> | undefined

  constructor (store: PlantStore, eventLoop?: EventLoopLag) {
    this.#store = store
    this.#eventLoop = eventLoop
  }

  /** Whether create requests should be refused until the process has caught up. */
  get overloaded (): boolean {
    return this.#eventLoop?.lagging ?? false
  }

  /** Makes the service not ready from now on, so that a load balancer sends it no more requests. */
  close (): void {
    this.#closing = true
  }

  /** @returns the reason why the service is not ready; undefined if it is ready */
  async fault (): Promise<string | undefined> {
    if (this.#closing) return 'the service is shutting down'
    if (this.overloaded) return 'the service is overloaded'
    this.#check ??= this.#storeFault().finally(() => { this.#check = undefined })
    return this.#check
  }

  async #storeFault (): Promise<string | undefined> {
    const timeout = once(AbortSignal.timeout(READY_TIMEOUT_MS), 'abort')
    try {
      await Promise.race([
        this.#store.ready?.(),
        timeout.then(() => { throw new Error(`the store did not respond within ${READY_TIMEOUT_MS} ms`) })
      ])
    } catch (error) {
      return messageOf(error)
    }
  }
}

/** `GET /health/live` and `GET /health/ready`, for probes; they take no token. */
export async function healthRoutes (app: FastifyInstance, { health }: { health: Health }): Promise<void> {
  app.get('/health/live', (_request, reply) => { reply.send({ status: 'ok' }) })

  app.get('/health/ready', async (request, reply) => {
    // Pipelined. While the first one waits for the store, any number of others would be read, each taking memory.
    if (reply.raw.socket === null) reply.raw.setHeader('connection', 'close')
    const fault = await health.fault()
    if (fault === undefined) return { status: 'ok' }
    writeError(new ApiError('notStored', `Not ready: ${fault}`), request, reply)
    return reply
  })
}
