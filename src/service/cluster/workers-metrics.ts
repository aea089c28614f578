import type { Worker } from 'node:cluster'
import { Counter, Gauge } from 'prom-client'
import { aggregate, ProcessMetrics, type MetricsData } from '../metrics/process-metrics.js'
import type { FromWorker, ToWorker } from './messages.js'

/** Milliseconds after which the last known values stand in for a worker that is too busy to respond. */
const RESPONSE_TIMEOUT_MS = 1_000

interface Report {
  counters: MetricsData
  gauges: MetricsData
}

/** The metrics of this process and of all workers. The counters of a worker are kept after it has exited. */
export class WorkersMetrics extends ProcessMetrics {
  readonly #reports = new Map<Worker, Report>()
  readonly #responses = new Map<number, () => void>()
  readonly #workers = new Gauge({ name: 'plant_store_workers', help: 'Processes that share the port', registers: [this.registry] })
  readonly #restarts = new Counter({
    name: 'plant_store_worker_restarts_total',
    help: 'Workers that were started because another one had exited',
    registers: [this.registry]
  })

  #exited: MetricsData[] = []
  #lastRequestId = 0

  /** Requests the metrics of all workers. */
  async collect (workers: readonly Worker[]): Promise<MetricsData[]> {
    this.#workers.set(workers.length)
    await Promise.all(workers.map(async worker => this.#request(worker)))
    const reports = [...this.#reports.values()].flatMap(({ counters, gauges }) => [counters, gauges])
    return [...reports, ...this.#exited, await this.data()]
  }

  receive (worker: Worker, message: FromWorker & { kind: 'metrics' | 'heartbeat' }): void {
    if (message.kind === 'heartbeat') {
      const { gauges = [] } = this.#reports.get(worker) ?? {}
      this.#reports.set(worker, { counters: message.counters, gauges })
      return
    }
    const { data, requestId } = message
    this.#reports.set(worker, { counters: data.filter(isCounter), gauges: data.filter(metric => !isCounter(metric)) })
    this.#responses.get(requestId)?.()
  }

  countRestart (): void {
    this.#restarts.inc()
  }

  /** Adds the counters of a worker to the sum of all that have exited. */
  exited (worker: Worker): void {
    const { counters = [] } = this.#reports.get(worker) ?? {}
    this.#reports.delete(worker)
    this.#exited = [...this.#exited, counters]
    this.#sumExited()
  }

  async #sumExited (): Promise<void> {
    const summed = this.#exited
    if (summed.length < 2) return
    const sum = await aggregate(summed).getMetricsAsJSON()
    // Another worker may have exited since.
    if (summed === this.#exited) this.#exited = [sum]
  }

  async #request (worker: Worker): Promise<void> {
    const requestId = ++this.#lastRequestId
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, RESPONSE_TIMEOUT_MS)
      this.#responses.set(requestId, () => {
        clearTimeout(timer)
        resolve()
      })
      if (worker.isConnected()) worker.send({ kind: 'metrics', requestId } satisfies ToWorker, () => {})
    })
    this.#responses.delete(requestId)
  }
}

/** Gauges are not kept for a process that has exited. prom-client declares its types as numbers, but uses strings. */
function isCounter ({ type }: MetricsData[number]): boolean {
  return ['counter', 'histogram'].includes(String(type))
}
