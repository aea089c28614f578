import type { Worker } from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import { Counter, Gauge } from 'prom-client'
import { aggregate, ProcessMetrics, type MetricsData } from '../metrics/process-metrics.js'
import type { FromWorker, ToWorker } from './messages.js'

const RESPONSE_TIMEOUT_MS = 1_000

/** The metrics of this process and of all workers. The counters of a worker are kept after it has exited. */
export class WorkersMetrics extends ProcessMetrics {
  /** The last values of each metric, by its name. */
  readonly #reports = new Map<Worker, Map<string, MetricsData[number]>>()
  /** Emits the number of each request when its response has arrived. */
  readonly #responses = new EventEmitter()
  readonly #workers = new Gauge({ name: 'plant_store_workers', help: 'Processes that share the port', registers: [this.registry] })
  readonly #restarts = new Counter({
    name: 'plant_store_worker_restarts_total',
    help: 'Workers that were started because another one had exited',
    registers: [this.registry]
  })

  /** The sums of all workers that have exited. */
  #exited: Promise<MetricsData> = Promise.resolve([])
  #lastRequestId = 0

  /** Requests the metrics of all workers. */
  async collect (workers: readonly Worker[]): Promise<MetricsData[]> {
    this.#workers.set(workers.length)
    await Promise.all(workers.map(async worker => this.#request(worker)))
    const reports = [...this.#reports.values()].map(report => [...report.values()])
    return [...reports, await this.#exited, await this.data()]
  }

  receive (worker: Worker, { requestId, metrics }: FromWorker & { kind: 'report' }): void {
    const report = this.#reports.get(worker) ?? new Map()
    for (const metric of metrics) report.set(metric.name, metric)
    this.#reports.set(worker, report)
    if (requestId !== undefined) this.#responses.emit(String(requestId))
  }

  countRestart (): void {
    this.#restarts.inc()
  }

  /** Adds the counters of a worker to the sum of all that have exited. */
  exited (worker: Worker): void {
    const report = this.#reports.get(worker)
    if (report === undefined) return
    this.#reports.delete(worker)
    const counters = [...report.values()].filter(isCounter)
    this.#exited = this.#exited.then(async sum => aggregate([sum, counters]).getMetricsAsJSON())
  }

  async #request (worker: Worker): Promise<void> {
    const requestId = ++this.#lastRequestId
    const response = once(this.#responses, String(requestId), { signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS) })
    if (worker.isConnected()) worker.send({ kind: 'poll', requestId } satisfies ToWorker, () => {})
    // The last known values stand in for those of a worker that is too busy to respond.
    await response.catch(() => {})
  }
}

/** Gauges are not kept for a process that has exited. prom-client declares its types as numbers, but uses strings. */
function isCounter ({ type }: MetricsData[number]): boolean {
  return ['counter', 'histogram'].includes(String(type))
}
