import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { systemClock, type Clock } from '../../clock.js'
import { messageOf } from '../../error-message.js'
import { ApiError } from '../../api-error.js'
import { ErrorSchema, errorResponses } from '../../route/schemas.js'
import type { PlantStore } from '../../stores/store.js'

const READY_TIMEOUT_MS = 3_000

/** Whether the service can take plants. */
export class Health {
  /** Set at a shutdown, so that a load balancer sends no more requests. */
  closing = false
  #check: Promise<string | undefined> | undefined

  constructor (private readonly store: PlantStore, private readonly clock: Clock = systemClock) {}

  /** @returns the reason why the service is not ready; undefined if it is ready */
  async fault (): Promise<string | undefined> {
    if (this.closing) return 'the service is shutting down'
    // One check at a time, for all requests: a store that hangs is not asked again.
    this.#check ??= this.#checkStore()
    return this.#check
  }

  /** Resolves when the store responds, or has not responded in time; the check goes on until the store responds. */
  #checkStore (): Promise<string | undefined> {
    const response = this.#askStore().then(() => undefined, messageOf)
    response.then(() => { this.#check = undefined })
    const timeout = new Promise<string>(resolve => {
      const fault = `the store did not respond within ${READY_TIMEOUT_MS} ms`
      this.clock.setTimeout(() => { resolve(fault) }, READY_TIMEOUT_MS).unref()
    })
    return Promise.race([response, timeout])
  }

  async #askStore (): Promise<void> {
    await this.store.ready?.()
  }
}

const status = Type.Unsafe<'ok'>({ type: 'string', enum: ['ok'] })
export const HealthSchema = Type.Object({ status }, { title: 'Health' })

const example = { value: { error: 50301, message: 'Not ready: the service is shutting down' } }
const notReady = {
  ...errorResponses('notStored')[503],
  description: '50301: Not ready; the message says why',
  content: { 'application/json': { schema: ErrorSchema, examples: { notReady: example } } }
}

const probe = (operationId: string, summary: string, ok: string, more?: object) => ({
  operationId,
  summary,
  description: 'For probes of a load balancer or of Kubernetes.',
  tags: ['health'],
  security: [],
  response: {
    200: { description: ok, content: { 'application/json': { schema: HealthSchema } } },
    ...errorResponses('requestMalformed'),
    ...more
  }
})

const live = probe('live', 'Whether the process responds', 'Healthy')
const ready = probe('ready', 'Whether the service can take plants', 'Ready', { 503: notReady })

/** `GET /health/live` and `GET /health/ready`, for probes; they take no token. */
export async function healthRoutes (
  app: FastifyInstance, { health }: { health: Pick<Health, 'fault'> }
): Promise<void> {
  app.get('/health/live', { schema: live }, () => ({ status: 'ok' }))
  app.get('/health/ready', { schema: ready }, async () => {
    const fault = await health.fault()
    if (fault !== undefined) throw new ApiError('notStored', `Not ready: ${fault}`)
    return { status: 'ok' }
  })
}
