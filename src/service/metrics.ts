import { createServer, type Server } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { channels, type QueueMessage } from '../diagnostics.js'
import { version, type Configuration } from './configuration/configuration.js'
import type { Health } from './http/health.js'

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const PLANTS = [1, 2, 5, 10, 20, 50, 100, 200, 256]

const OUTCOMES = ['stored', 'same', 'taken', 'not_stored', 'unknown', 'failed'] as const

/** The metrics of the service. */
export class ServiceMetrics {
  readonly registry = new Registry()

  readonly #requests = new Histogram({
    ...this.#metric('http_request_duration_seconds', 'Time from the headers of a request to the end of its response'),
    labelNames: ['method', 'route', 'status_code'],
    buckets: SECONDS
  })

  constructor (configuration: Pick<Configuration, 'tls'>, health: Pick<Health, 'fault'>) {
    collectDefaultMetrics({ register: this.registry })
    // Gauges that are named like counters, which promtool finds fault with.
    for (const what of ['resources', 'handles', 'requests']) {
      this.registry.removeSingleMetric(`nodejs_active_${what}_total`)
    }
    // The increase of a counter whose first sample is above 0 is invisible to an alert, so all series start at 0.
    for (const status of [500, 503, 504]) this.#requests.zero({ method: 'POST', route: '/plants', status_code: status })
    this.#requests.zero({ method: 'GET', route: '/health/ready', status_code: 503 })

    const info = new Gauge({
      ...this.#metric('plant_store_info', 'The version of plant-store, as a label'), labelNames: ['version']
    })
    info.set({ version }, 1)
    this.#gauge('plant_store_ready', 'Whether the service can take plants: 1 or 0, as /health/ready',
      async () => Number(await health.fault() === undefined))
    // Of the first registration of the plugin, the service's: a later one only documents the route.
    let queue: QueueMessage | undefined
    channels.queue.subscribe(ofPlugin => { queue ??= ofPlugin })
    this.#gauge('plant_store_creates_waiting', 'Pending create requests; QUEUE_LIMIT bounds them', () => queue?.pending ?? 0)
    this.#gauge('plant_store_queue_bytes', 'Bytes of the bodies of pending create requests; QUEUE_BYTES bounds them', () => queue?.bytes ?? 0)
    if (configuration.tls !== undefined) {
      this.#gauge('plant_store_tls_certificate_expiry_timestamp_seconds',
        'When the certificate that is served expires, in seconds since 1970', () => (configuration.tls?.expiresAt ?? 0) / 1_000)
    }

    const creates = new Counter({
      ...this.#metric('plant_store_creates_total', `Create requests by outcome: ${OUTCOMES.join(', ')}`),
      labelNames: ['outcome']
    })
    for (const outcome of OUTCOMES) creates.inc({ outcome }, 0)
    channels.createEnd.subscribe(({ outcome = 'failed' }) => { creates.inc({ outcome }) })

    const inFlight = new Gauge(this.#metric('plant_store_batches_in_flight', 'Pending writes to the store'))
    const plants = new Histogram({
      ...this.#metric('plant_store_batch_plants', 'Plants in one write to the store'), buckets: PLANTS
    })
    const seconds = new Histogram({
      ...this.#metric('plant_store_batch_duration_seconds', 'Time of one write to the store'), buckets: SECONDS
    })
    const retries = new Counter(this.#metric('plant_store_retries_total', 'Plants written again because a write failed'))
    channels.batchStart.subscribe(() => { inFlight.inc() })
    channels.batchEnd.subscribe(batch => {
      inFlight.dec()
      plants.observe(batch.plants)
      seconds.observe((batch.milliseconds ?? 0) / 1_000)
      retries.inc(batch.retries)
    })
  }

  #metric (name: string, help: string) {
    return { name, help, registers: [this.registry] }
  }

  #gauge (name: string, help: string, value: () => number | Promise<number>): void {
    const gauge: Gauge = new Gauge({ ...this.#metric(name, help), collect: async () => { gauge.set(await value()) } })
  }

  readonly observeRequest = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    this.#requests.observe({
      method: request.method,
      route: request.is404 ? 'unknown' : request.routeOptions.url ?? 'unknown',
      status_code: reply.statusCode
    }, reply.elapsedTime / 1_000)
    done()
  }

  /** Makes a server, not listening yet, of `GET /metrics` in Prometheus's text format, for a port of its own. */
  createServer (): Server {
    const server = createServer({ headersTimeout: 10_000, requestTimeout: 10_000 }, async (request, response) => {
      if (request.url?.split('?', 1)[0] !== '/metrics') return response.writeHead(404).end()
      const text = await this.registry.metrics().catch(() => undefined)
      if (text === undefined) response.writeHead(500).end()
      else response.writeHead(200, { 'content-type': this.registry.contentType }).end(text)
    })
    // Node would answer on a connection on which nothing was sent.
    return server.on('clientError', (_error, socket) => { socket.destroy() })
  }
}
