export interface Spread { median: number, low: number, high: number, rounds: number }

export function median (values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2
}

/** The lowest and highest value, not a standard deviation: a few rounds are not a distribution. */
export function spread (values: readonly number[]): Spread {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values), rounds: values.length }
}

/** The ratio of the medians, and the range of the ratios within each round, whose measurements ran close together. */
export function ratio (values: readonly number[], base: readonly number[]): Spread {
  const pairs = values.slice(0, base.length).map((value, round) => value / (base[round] ?? NaN))
  return { ...spread(pairs), median: median(values) / median(base) }
}

/** In the unit of the values from which they are computed. */
export interface Percentiles { p50: number, p99: number, p999: number, max: number }

export function percentiles (values: readonly number[]): Percentiles | undefined {
  if (values.length === 0) return undefined
  const sorted = Float64Array.from(values).sort()
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) }
}
