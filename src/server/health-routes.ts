import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { apiErrors } from '../api-error.js'
import { ErrorSchema } from '../plant-schemas.js'
import type { PlantStore } from '../stores/plant-store.js'
import { Type } from '../typebox.js'
import type { EventLoopLag } from './event-loop-lag.js'

const PATIENCE = 3_000

/** Whether the service can take plants. */
export class Health {
  readonly #store: PlantStore
  readonly #eventLoop: Pick<EventLoopLag, 'lagging'> | undefined
  #closing = false

  constructor (store: PlantStore, eventLoop?: Pick<EventLoopLag, 'lagging'>) {
    this.#store = store
    this.#eventLoop = eventLoop
  }

  /** Whether plants should be refused until the process has caught up. */
  get overloaded (): boolean {
    return this.#eventLoop?.lagging ?? false
  }

  /** From now on the service is not ready, so that a load balancer sends it no more. */
  close (): void {
    this.#closing = true
  }

  /** @returns why the service is not ready; undefined where it is */
  async fault (): Promise<string | undefined> {
    if (this.#closing) return 'the service is shutting down'
    if (this.overloaded) return 'the service is overloaded'
    const timeout = new AbortController()
    try {
      await Promise.race([
        this.#store.ready?.(),
        sleep(PATIENCE, undefined, { signal: timeout.signal, ref: false }).then(() => { throw new Error(`no word from the store in ${PATIENCE} ms`) })
      ])
    } catch (error) {
      return (error as Error).message
    } finally {
      timeout.abort()
    }
  }
}

const StatusSchema = Type.Object({ status: Type.Literal('ok') }, { title: 'Status' })

/** `GET /health/live` and `GET /health/ready`, for probes; they take no token. */
export async function healthRoutes (app: FastifyInstance, { health }: { health: Health }): Promise<void> {
  app.get('/health/live', {
    schema: { operationId: 'live', summary: 'Whether the process answers', security: [], response: { 200: StatusSchema } }
  }, (_request, reply) => { reply.send({ status: 'ok' }) })

  app.get('/health/ready', {
    schema: {
      operationId: 'ready', summary: 'Whether the service can take plants', security: [], response: { 200: StatusSchema, 503: ErrorSchema }
    }
  }, async (_request, reply) => {
    const fault = await health.fault()
    if (fault === undefined) return { status: 'ok' }
    const [status, error] = apiErrors.notStored
    return reply.code(status).header('retry-after', '1').send({ error, message: `Not ready: ${fault}` })
  })
}
