export interface Spread { median: number, low: number, high: number, rounds: number }

export function median (values: readonly number[]): number {
  if (values.length === 0) return NaN
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] as number
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2
}

/** Lowest and highest, not a deviation: five rounds are too few to speak of a distribution. */
export function spread (values: readonly number[]): Spread {
  return {
    median: median(values),
    low: Math.min(...values),
    high: Math.max(...values),
    rounds: values.length
  }
}

/**
 * The ratio of the medians; its low and high come from the rounds taken in pairs, because the two halves of a round
 * ran one after the other and met the same weather on the machine.
 */
export function ratio (values: readonly number[], base: readonly number[]): Spread {
  const pairs = values.slice(0, base.length).map((value, round) => value / (base[round] as number))
  return { ...spread(pairs), median: median(values) / median(base) }
}
