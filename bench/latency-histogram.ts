import { build } from 'hdr-histogram-js'

export interface Percentiles {
  p50: number
  p90: number
  p99: number
  p999: number
  p9999: number
  max: number
}

export interface LatencyHistogram {
  record: (milliseconds: number) => void
  percentiles: () => Percentiles
}

/** Whole microseconds, three digits kept: autocannon's own histogram has whole milliseconds, in which a fast service vanishes. */
export function latencyHistogram (): LatencyHistogram {
  const histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: 600e6,
    numberOfSignificantValueDigits: 3
  })
  // The histogram answers with the top of a bucket, which can lie above the highest value there was.
  const at = (percentile: number): number => Math.min(histogram.getValueAtPercentile(percentile), histogram.maxValue)
  return {
    record (milliseconds) {
      histogram.recordValue(Math.max(1, Math.round(milliseconds * 1000)))
    },
    percentiles: () => ({
      p50: at(50),
      p90: at(90),
      p99: at(99),
      p999: at(99.9),
      p9999: at(99.99),
      max: histogram.maxValue
    })
  }
}
