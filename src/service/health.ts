import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { messageOf } from '../error-message.js'
import { ApiError } from '../route/errors.js'
import { ErrorSchema, errorResponses } from '../route/schemas.js'
import type { PlantStore } from '../stores/plant-store.js'

const READY_TIMEOUT_MS = 3_000
const LAG_INTERVAL_MS = 100
const TOO_LATE_MS = 500

/** Whether the service can take plants. */
export class Health {
  /** Whether create requests are refused until the event loop has caught up. */
  overloaded = false
  /** Set at a shutdown, so that a load balancer sends no more requests. */
  closing = false
  #check: Promise<string | undefined> | undefined

  constructor (private readonly store: PlantStore) {}

  /** @returns the reason why the service is not ready; undefined if it is ready */
  async fault (): Promise<string | undefined> {
    if (this.closing) return 'the service is shutting down'
    if (this.overloaded) return 'the service is overloaded'
    // All requests share one check of the store.
    this.#check ??= Promise.race([
      this.store.ready?.().then(() => undefined, messageOf),
      sleep(READY_TIMEOUT_MS, `the store did not respond within ${READY_TIMEOUT_MS} ms`, { ref: false })
    ]).finally(() => { this.#check = undefined })
    return this.#check
  }

  /** Notices when the event loop lags: a timer is late twice in a row. Once, the machine may have been asleep. */
  watchEventLoop (): void {
    let expected = performance.now() + LAG_INTERVAL_MS
    let wasLate = false
    setInterval(() => {
      const now = performance.now()
      const isLate = now - expected > TOO_LATE_MS
      this.overloaded = isLate && wasLate
      wasLate = isLate
      expected = now + LAG_INTERVAL_MS
    }, LAG_INTERVAL_MS).unref()
  }
}

export const HealthSchema = Type.Object({ status: Type.Unsafe<'ok'>({ type: 'string', enum: ['ok'] }) }, { title: 'Health', description: 'Yes' })

const example = { value: { error: 50301, message: 'Not ready: the service is shutting down' } }
const notReady = {
  ...errorResponses('notStored')[503],
  description: 'No; the message says why',
  content: { 'application/json': { schema: ErrorSchema, examples: { notReady: example } } }
}

const probe = (operationId: string, summary: string, more?: object) => ({
  operationId,
  summary,
  description: 'For probes of a load balancer or of Kubernetes.',
  tags: ['health'],
  security: [],
  response: { 200: HealthSchema, ...errorResponses('requestMalformed'), ...more }
})

/** `GET /health/live` and `GET /health/ready`, for probes; they take no token. */
export async function healthRoutes (app: FastifyInstance, { health }: { health: Health }): Promise<void> {
  app.get('/health/live', { schema: probe('live', 'Whether the process responds') }, () => ({ status: 'ok' }))
  app.get('/health/ready', { schema: probe('ready', 'Whether the service can take plants', { 503: notReady }) }, async () => {
    const fault = await health.fault()
    if (fault !== undefined) throw new ApiError('notStored', `Not ready: ${fault}`)
    return { status: 'ok' }
  })
}
