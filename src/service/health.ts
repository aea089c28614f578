import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { systemClock, type Clock } from '../clock.js'
import { messageOf } from '../error-message.js'
import { ApiError } from '../api-error.js'
import { ErrorSchema, errorResponses } from '../route/schemas.js'
import type { PlantStore } from '../stores/plant-store.js'

const READY_TIMEOUT_MS = 3_000
const WATCH_INTERVAL_MS = 5_000
const LAG_INTERVAL_MS = 100
const TOO_LATE_MS = 500

/** Whether the service can take plants. */
export class Health {
  /** Whether create requests are refused until the event loop has caught up. */
  overloaded = false
  #closing = false
  /** The result of the check of the store that is running. */
  #check: Promise<string | undefined> | undefined
  /** The result of the latest check. */
  #storeFault: string | undefined = 'the store has not been checked yet'
  #nextCheck: object | undefined

  constructor (private readonly store: PlantStore, private readonly clock: Clock = systemClock) {}

  /** Whether the service is shutting down. */
  get closing (): boolean {
    return this.#closing
  }

  /** What `fault` would find, as far as the latest check of the store knows. */
  get isReady (): boolean {
    return this.#ownFault() === undefined && this.#storeFault === undefined
  }

  /** @returns the reason why the service is not ready; undefined if it is ready */
  async fault (): Promise<string | undefined> {
    const ownFault = this.#ownFault()
    if (ownFault !== undefined) return ownFault
    // One check at a time, for all requests: a store that hangs is not asked again.
    this.#check ??= this.#checkStore()
    return this.#check
  }

  #ownFault (): string | undefined {
    if (this.#closing) return 'the service is shutting down'
    if (this.overloaded) return 'the service is overloaded'
    return undefined
  }

  /** Resolves when the store responds, or has not responded in time; the check goes on until the store responds. */
  #checkStore (): Promise<string | undefined> {
    return new Promise(resolve => {
      let isInTime = true
      const timer = this.clock.setTimeout(() => {
        isInTime = false
        this.#storeFault = `the store did not respond within ${READY_TIMEOUT_MS} ms`
        resolve(this.#storeFault)
      }, READY_TIMEOUT_MS)
      timer.unref()
      this.#askStore().then(() => undefined, messageOf).then(fault => {
        this.#check = undefined
        // A late response says nothing about the next one.
        if (!isInTime) return
        this.clock.clearTimeout(timer)
        this.#storeFault = fault
        resolve(fault)
      })
    })
  }

  async #askStore (): Promise<void> {
    await this.store.ready?.()
  }

  /** Checks the store again and again, until `close`, so that `isReady` is right without requests. */
  watchStore (): void {
    this.fault().finally(() => {
      if (this.#closing) return
      const timer = this.clock.setTimeout(() => { this.watchStore() }, WATCH_INTERVAL_MS)
      timer.unref()
      this.#nextCheck = timer
    })
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

  /** Marks the service as shutting down, so that a load balancer sends no more requests. */
  close (): void {
    this.#closing = true
    if (this.#nextCheck !== undefined) this.clock.clearTimeout(this.#nextCheck)
  }
}

export const HealthSchema = Type.Object({ status: Type.Unsafe<'ok'>({ type: 'string', enum: ['ok'] }) }, { title: 'Health' })

const healthy = (description: string) => ({ description, content: { 'application/json': { schema: HealthSchema } } })

const example = { value: { error: 50301, message: 'Not ready: the service is shutting down' } }
const notReady = {
  ...errorResponses('notStored')[503],
  description: 'Not ready; the message says why',
  content: { 'application/json': { schema: ErrorSchema, examples: { notReady: example } } }
}

const probe = (operationId: string, summary: string, response: object) => ({
  operationId,
  summary,
  description: 'For probes of a load balancer or of Kubernetes.',
  tags: ['health'],
  security: [],
  response: { ...response, ...errorResponses('requestMalformed') }
})

/** `GET /health/live` and `GET /health/ready`, for probes; they take no token. */
export async function healthRoutes (app: FastifyInstance, { health }: { health: Health }): Promise<void> {
  const live = probe('live', 'Whether the process responds', { 200: healthy('Healthy') })
  app.get('/health/live', { schema: live }, () => ({ status: 'ok' }))

  const ready = probe('ready', 'Whether the service can take plants', { 200: healthy('Ready'), 503: notReady })
  app.get('/health/ready', { schema: ready }, async () => {
    const fault = await health.fault()
    if (fault !== undefined) throw new ApiError('notStored', `Not ready: ${fault}`)
    return { status: 'ok' }
  })
}
