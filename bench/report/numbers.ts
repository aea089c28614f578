import type { Spread } from '../statistics.js'

/** 0.79 (0.76–0.81): the median, and what the rounds span. */
export function ratioText (value: Spread | undefined): string {
  if (value === undefined) return ''
  const digits = value.median < 2 ? 2 : 1
  return `${value.median.toFixed(digits)}${value.rounds > 1 ? ` (${value.low.toFixed(digits)}–${value.high.toFixed(digits)})` : ''}`
}

export function countText (value: number | undefined): string {
  return value === undefined ? '' : Math.round(value).toLocaleString('en')
}

export function rangeText (value: Spread | undefined): string {
  return value === undefined ? '' : `${countText(value.low)}–${countText(value.high)}`
}

/** From microseconds. */
export function timeText (micros: number | undefined): string {
  if (micros === undefined) return ''
  if (micros < 1000) return `${Math.round(micros)} µs`
  return micros < 1e6 ? `${(micros / 1000).toFixed(micros < 1e4 ? 2 : 1)} ms` : `${(micros / 1e6).toFixed(2)} s`
}
