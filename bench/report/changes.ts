import { contender } from '../contenders.js'
import { specKey, type Measurement, type Results } from '../results.js'
import { figure, isAtLeast, keepsUp, mongoName, p99, perSecond, ratioTo } from './figures.js'

/**
 * The change of throughput since another run, or of p99 at a given rate, as a ratio that is marked if it exceeds the
 * noise. Throughput is relative to bare node:http if both runs measured it: a slower machine is not a regression.
 * `WORSE` is one; `worse` marks peers and, if bare was measured, figures that are not relative to it.
 */
export function changes (before: Results, now: Results): Map<string, string> {
  const isBare = (one: Measurement): boolean => one.spec.server === 'bare' && !isAtLeast(one)
  const hasBare = [before, now].every(run => run.measurements.some(isBare))
  return new Map(now.measurements.flatMap(measurement => {
    const key = specKey(measurement.spec)
    const old = before.measurements.find(one => specKey(one.spec) === key)
    if (old === undefined) return []
    const pick = measurement.spec.rate === undefined ? perSecond : p99
    const ratios = [ratioTo('bare', old, pick, before), ratioTo('bare', measurement, pick, now)]
    const isRelative = !ratios.includes(undefined)
    const [was, is] = isRelative ? ratios : [figure(old, pick), figure(measurement, pick)]
    if (was === undefined || is === undefined) return []
    const change = is.median / was.median
    // One or two rounds do not show how large the noise is.
    const isNoise =
      Math.min(was.rounds, is.rounds) < 3 ? Math.abs(1 - change) < 0.5 : is.low <= was.high && is.high >= was.low
    const isSame =
      (isNoise || Math.abs(1 - change) < (pick === p99 ? 0.15 : 0.05)) && keepsUp(measurement) === keepsUp(old)
    const isWorse = (pick === p99 ? change > 1 : change < 1) || !keepsUp(measurement)
    const worse = contender(measurement.spec.server).isOurs && (isRelative || !hasBare) ? ' WORSE' : ' worse'
    return [[key, `${change.toFixed(2)}${isSame ? '' : isWorse ? worse : ' better'}`]]
  }))
}

/** The differences that make two runs hard to compare. */
export function differences (before: Results, now: Results): string[] {
  const [old, is] = [before, now].map(({ machine, versions: { node }, mongodb, method }) =>
    new Map<string, unknown>(Object.entries({ machine, node, mongodb: mongoName(mongodb), ...method })))
  const differ = [...old ?? []].filter(([name, value]) => is?.get(name) !== value)
  return differ.map(([name, value]) => `The compared runs differ: ${name} was ${String(value)}, is ${String(is?.get(name))}.`)
}
