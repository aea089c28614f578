import type { FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Gauge, Histogram } from 'prom-client'
import { channels, type QueueMessage } from '../../diagnostics.js'
import type { TlsPair } from '../config/tls-pair.js'
import { ProcessMetrics, SECONDS } from './process-metrics.js'

const OUTCOMES = ['stored', 'same', 'taken', 'not_stored', 'unknown', 'failed'] as const
/** The increase of a counter whose first sample is above 0 is invisible to an alert, so all series start at 0. */
const FAULTS = [['POST', '/plants', 500], ['POST', '/plants', 503], ['POST', '/plants', 504], ['GET', '/health/ready', 503]] as const

const OF_KILLED_WORKERS = '; counts of the last second before a worker is killed are missing'

/** The metrics of a process that serves requests. prom-client is loaded only if METRICS_PORT is set. */
export class ServiceMetrics extends ProcessMetrics {
  readonly #queues: QueueMessage[] = []
  readonly #requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response',
    labelNames: ['method', 'route', 'status_code'],
    buckets: SECONDS,
    registers: [this.registry]
  })

  readonly #createRequests = new Counter({
    name: 'plant_store_creates_total',
    help: `Create requests by outcome: ${OUTCOMES.join(', ')}${OF_KILLED_WORKERS}`,
    labelNames: ['outcome'],
    registers: [this.registry]
  })

  #certificateExpiry: Gauge | undefined

  constructor () {
    super()
    for (const [method, route, status] of FAULTS) this.#requests.zero({ method, route, status_code: status })
    for (const outcome of OUTCOMES) this.#createRequests.inc({ outcome }, 0)
    this.#addRequestsTotal()
    this.#addQueueGauge('plant_store_creates_waiting', 'Create requests pending in the store; QUEUE_LIMIT bounds them in each process', ({ pending }) => pending)
    this.#addQueueGauge('plant_store_queue_bytes', 'Bytes of bodies being received or pending in the store; QUEUE_BYTES bounds them in each process', ({ bytes }) => bytes)
    channels.queue.subscribe(queue => { this.#queues.push(queue) })
    channels.createEnd.subscribe(({ outcome = 'failed' }) => { this.#createRequests.inc({ outcome }) })
  }

  /** An `onResponse` hook. */
  readonly observeRequest = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    this.#requests.observe({
      method: request.method,
      route: request.is404 ? 'unknown' : request.routeOptions.url ?? 'unknown',
      status_code: reply.statusCode
    }, reply.elapsedTime / 1000)
    done()
  }

  /** Sets the expiry time of the certificate served from now on. */
  observeCertificate ({ expiresAt }: TlsPair): void {
    this.#certificateExpiry ??= new Gauge({
      name: 'plant_store_tls_certificate_expiry_timestamp_seconds',
      help: 'When the certificate that is served expires, in seconds since 1970',
      aggregator: 'min',
      registers: [this.registry]
    })
    this.#certificateExpiry.set(expiresAt / 1_000)
  }

  #addQueueGauge (name: string, help: string, value: (queue: QueueMessage) => number): void {
    const queues = this.#queues
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.registry],
      collect: () => { gauge.set(queues.reduce((sum, queue) => sum + value(queue), 0)) }
    })
  }

  #addRequestsTotal (): void {
    const requests = this.#requests
    // The histogram already counts requests: counting each a second time would add nothing.
    const total: Counter = new Counter({
      name: 'http_requests_total',
      help: `Requests that got a response${OF_KILLED_WORKERS}`,
      labelNames: ['method', 'route', 'status_code'],
      registers: [this.registry],
      async collect () {
        const { values } = await requests.get()
        total.reset()
        for (const { metricName, labels, value } of values) {
          if (metricName === 'http_request_duration_seconds_count') total.inc(labels, value)
        }
      }
    })
  }
}
