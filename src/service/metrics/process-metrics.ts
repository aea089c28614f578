import { AggregatorRegistry, collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'
import type { Aggregator, MetricObjectWithValues, MetricValue } from 'prom-client'

/** The metrics of one process, in the form in which processes exchange them. */
export type MetricsData = MetricObjectWithValues<MetricValue<string>>[]

/** Left out: sums of other metrics, gauges named like counters, a minimum that is 2^63 if nothing was measured. */
const WITHOUT = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_eventloop_lag_min_seconds']

/** The processor, memory, event loop and garbage collection of one process. */
export class ProcessMetrics {
  protected readonly registry = new Registry()

  constructor () {
    collectDefaultMetrics({ register: this.registry })
    for (const name of WITHOUT) this.registry.removeSingleMetric(name)
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
