import { specKey, type Results } from '../results.js'
import { figure, keepsUp, p99, perSecond, ratioTo } from './figures.js'

/**
 * The change of throughput since another run, or of p99 at a given rate, as a ratio that is marked if it exceeds the
 * noise. If both runs measured bare node:http, throughput is relative to that: a slower machine is not a regression.
 */
export function changes (before: Results, now: Results): Map<string, string> {
  return new Map(now.measurements.flatMap(measurement => {
    const key = specKey(measurement.spec)
    const old = before.measurements.find(one => specKey(one.spec) === key)
    if (old === undefined) return []
    const pick = measurement.spec.rate === undefined ? perSecond : p99
    const ratios = [ratioTo('bare', old, pick, before), ratioTo('bare', measurement, pick, now)]
    const [was, is] = ratios.includes(undefined) ? [figure(old, pick), figure(measurement, pick)] : ratios
    if (was === undefined || is === undefined) return []
    const change = is.median / was.median
    // One or two rounds do not show how large the noise is.
    const isNoise =
      Math.min(was.rounds, is.rounds) < 3 ? Math.abs(1 - change) < 0.5 : is.low <= was.high && is.high >= was.low
    const isSame =
      (isNoise || Math.abs(1 - change) < (pick === p99 ? 0.15 : 0.05)) && keepsUp(measurement) === keepsUp(old)
    const isWorse = (pick === p99 ? change > 1 : change < 1) || !keepsUp(measurement)
    return [[key, `${change.toFixed(2)}${isSame ? '' : isWorse ? ' WORSE' : ' better'}`]]
  }))
}
