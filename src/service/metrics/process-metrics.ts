import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Aggregator, MetricObjectWithValues, MetricValue } from 'prom-client'
import { channels, type BatchMessage } from '../../diagnostics.js'

/** The metrics of one process, in the form in which processes exchange them. */
export type MetricsData = MetricObjectWithValues<MetricValue<string>>[]

/** The buckets of durations. */
export const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const PLANTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

/** Left out: sums of other metrics, gauges named like counters, a minimum that is 2^63 if nothing was measured. */
const WITHOUT = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_eventloop_lag_min_seconds']

/** The processor, memory, event loop and garbage collection of one process, and its writes to the store. */
export class ProcessMetrics {
  protected readonly registry = new Registry()

  readonly #batchesInFlight = new Gauge({
    name: 'plant_store_batches_in_flight', help: 'Pending writes to the store', registers: [this.registry]
  })

  readonly #batchPlants = new Histogram({
    name: 'plant_store_batch_plants', help: 'Plants in one write to the store', buckets: PLANTS, registers: [this.registry]
  })

  readonly #batchSeconds = new Histogram({
    name: 'plant_store_batch_duration_seconds', help: 'Time of one write to the store', buckets: SECONDS, registers: [this.registry]
  })

  readonly #retries = new Counter({
    name: 'plant_store_retries_total', help: 'Plants written again because a write failed', registers: [this.registry]
  })

  constructor () {
    collectDefaultMetrics({ register: this.registry })
    for (const name of WITHOUT) this.registry.removeSingleMetric(name)
    channels.batchStart.subscribe(() => { this.#batchesInFlight.inc() })
    channels.batchEnd.subscribe(batch => { this.#observeBatch(batch) })
  }

  /** Collects all metrics. */
  async data (): Promise<MetricsData> {
    const metrics = await this.registry.getMetricsAsJSON()
    return metrics.map(metric => ({
      ...metric,
      aggregator: aggregators[metric.name] ?? (metric.name.startsWith('nodejs_eventloop_lag_') ? 'max' : metric.aggregator),
      // Percentiles since the last scrape; NaN if nothing was measured.
      values: metric.values.filter(({ value }) => !Number.isNaN(value))
    }))
  }

  /** Collects counters and histograms only, without starting a new interval of the event loop's percentiles. */
  async counters (): Promise<MetricsData> {
    const metrics = this.registry.getMetricsAsArray().map(({ name }) => this.registry.getSingleMetric(name))
    const growing = metrics.filter(metric => metric instanceof Counter || metric instanceof Histogram)
    return Promise.all(growing.map(async metric => metric.get()))
  }

  #observeBatch ({ plants, milliseconds = 0, retries }: BatchMessage): void {
    this.#batchesInFlight.dec()
    this.#batchPlants.observe(plants)
    this.#batchSeconds.observe(milliseconds / 1_000)
    if (retries > 0) this.#retries.inc(retries)
  }
}

/** Combines the metrics of several processes. */
export function aggregate (processes: readonly MetricsData[]): Registry {
  return AggregatorRegistry.aggregate([...processes])
}

/** How values of several processes are aggregated, if not by prom-client's default. */
const aggregators: Readonly<Record<string, Aggregator>> = {
  process_start_time_seconds: 'min',
  // The value of the process that is closest to its limit.
  process_open_fds: 'max',
  process_max_fds: 'min'
}
