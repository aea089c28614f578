import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry, type MetricObjectWithValues, type MetricValue } from 'prom-client'
import { PlantNotStored, PlantPerhapsStored, type CreateOutcome, type PlantStore } from '../stores/plant-store.js'
import { batchChannel, type BatchMessage } from '../stores/batch-channel.js'

/** The metrics of one process, as they cross from one to another. */
export type MetricsData = MetricObjectWithValues<MetricValue<string>>[]

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Counts what one process does. It is made, and prom-client loaded, only where METRICS_PORT is set. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from a request\'s headers to the end of its answer',
    labelNames: ['method', 'route', 'status_code'],
    buckets: SECONDS,
    registers: [this.#registry]
  })

  readonly #creates = new Counter({
    name: 'plant_store_creates_total',
    help: 'Creates by what became of them: stored, same, taken, not_stored, perhaps_stored, failed',
    labelNames: ['outcome'],
    registers: [this.#registry]
  })

  readonly #waiting = new Gauge({
    name: 'plant_store_creates_waiting',
    help: 'Creates that the store has not let go of; QUEUE_LIMIT bounds them in each process',
    registers: [this.#registry]
  })

  readonly #batchesInFlight = new Gauge({
    name: 'plant_store_batches_in_flight',
    help: 'Writes to the store under way',
    registers: [this.#registry]
  })

  readonly #batchPlants = new Histogram({
    name: 'plant_store_batch_plants',
    help: 'Plants in one write to the store',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000],
    registers: [this.#registry]
  })

  readonly #batchSeconds = new Histogram({
    name: 'plant_store_batch_duration_seconds',
    help: 'Time of one write to the store',
    buckets: SECONDS,
    registers: [this.#registry]
  })

  readonly #retries = new Counter({
    name: 'plant_store_retries_total',
    help: 'Plants that are sent to the store again because a write of them failed',
    registers: [this.#registry]
  })

  constructor () {
    const requests = this.#requests
    // A second count in each request would tell nothing that the histogram does not know.
    const total: Counter = new Counter({
      name: 'http_requests_total',
      help: 'Requests that were answered',
      labelNames: ['method', 'route', 'status_code'],
      registers: [this.#registry],
      async collect () {
        total.reset()
        for (const { metricName, labels, value } of (await requests.get()).values) {
          if (metricName === 'http_request_duration_seconds_count') total.inc(labels, value)
        }
      }
    })
    collectDefaultMetrics({ register: this.#registry })
    subscribe(batchChannel, this.#observeBatch)
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

  /** The store, with what it does counted. */
  watch (store: PlantStore): PlantStore {
    let waiting = 0
    const settled = (outcome: string): void => {
      this.#waiting.set(--waiting)
      this.#creates.inc({ outcome })
    }
    return {
      create: (plant, deadline) => {
        this.#waiting.set(++waiting)
        const outcome = store.create(plant, deadline)
        outcome.then((outcome: CreateOutcome) => settled(outcome), (reason: unknown) => settled(failureOf(reason)))
        return outcome
      },
      open: async () => await store.open?.() ?? false,
      ready: async () => { await store.ready?.() },
      close: async () => { await store.close?.() }
    }
  }

  async data (): Promise<MetricsData> {
    return this.#registry.getMetricsAsJSON() as Promise<MetricsData>
  }

  close (): void {
    unsubscribe(batchChannel, this.#observeBatch)
  }

  readonly #observeBatch = (message: unknown): void => {
    const { plants, milliseconds, again } = message as BatchMessage
    if (milliseconds === undefined) {
      this.#batchesInFlight.inc()
      return
    }
    this.#batchesInFlight.dec()
    this.#batchPlants.observe(plants)
    this.#batchSeconds.observe(milliseconds / 1000)
    if (again > 0) this.#retries.inc(again)
  }
}

/** The metrics of all processes together, in Prometheus's text. */
export async function metricsText (processes: readonly MetricsData[]): Promise<string> {
  return AggregatorRegistry.aggregate(processes as object[]).metrics()
}

/** The metrics of processes, as those of one. */
export async function sumOf (processes: readonly MetricsData[]): Promise<MetricsData> {
  return AggregatorRegistry.aggregate(processes as object[]).getMetricsAsJSON() as Promise<MetricsData>
}

function failureOf (reason: unknown): string {
  if (reason instanceof PlantNotStored) return 'not_stored'
  return reason instanceof PlantPerhapsStored ? 'perhaps_stored' : 'failed'
}
