import type { Worker } from 'node:cluster'
import type { MetricsData } from './metrics.js'
import type { FromWorker, ToWorker } from './worker-messages.js'

/** A worker that is too busy to answer is counted as it was last seen. */
const PATIENCE = 1_000

/** Gathers the metrics of the workers. What a worker has counted stays counted when it is gone. */
export class WorkersMetrics {
  restarts = 0
  readonly #latest = new Map<Worker, MetricsData>()
  readonly #open = new Map<number, () => void>()
  readonly #departed: MetricsData[] = []
  #folding = false
  #questions = 0

  /** Asks all workers. */
  async collect (workers: ReadonlySet<Worker>): Promise<MetricsData[]> {
    await Promise.all([...workers].map(worker => this.#ask(worker)))
    await this.#fold()
    return [...this.#latest.values(), ...this.#departed, this.#own(workers.size)]
  }

  answered (worker: Worker, { question, data }: FromWorker & { kind: 'metrics' }): void {
    this.#latest.set(worker, data)
    this.#open.get(question)?.()
  }

  ended (worker: Worker): void {
    const data = this.#latest.get(worker)
    this.#latest.delete(worker)
    if (data !== undefined) this.#departed.push(countersOf(data))
  }

  /** Makes one of all that are gone, so that a worker that dies again and again does not fill the memory. */
  async #fold (): Promise<void> {
    const { length } = this.#departed
    if (length < 2 || this.#folding) return
    this.#folding = true
    const { sumOf } = await import('./metrics.js')
    // Others may have ended in the meantime.
    this.#departed.splice(0, length, await sumOf(this.#departed.slice(0, length)))
    this.#folding = false
  }

  async #ask (worker: Worker): Promise<void> {
    const question = ++this.#questions
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, PATIENCE)
      this.#open.set(question, () => {
        clearTimeout(timer)
        resolve()
      })
      if (worker.isConnected()) worker.send({ kind: 'metrics', question } satisfies ToWorker, () => {})
    })
    this.#open.delete(question)
  }

  #own (workers: number): MetricsData {
    const metric = (name: string, help: string, type: string, value: number): object =>
      ({ name, help, type, aggregator: 'sum', values: [{ value, labels: {} }] })
    return [
      metric('plant_store_workers', 'Processes that share the port', 'gauge', workers),
      metric('plant_store_worker_restarts_total', 'Workers that were started because one had ended', 'counter', this.restarts)
    ] as unknown as MetricsData
  }
}

/** The gauges of a process end with it. In prom-client's JSON the type is the word, whatever its types say. */
function countersOf (data: MetricsData): MetricsData {
  return data.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))
}
