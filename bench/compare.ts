import type { Results } from './results.js'
import type { Measurement, Round, Spec } from './spec.js'
import { specKey } from './spec.js'
import type { Spread } from './statistics.js'
import { ratio, spread } from './statistics.js'

export interface Comparison {
  key: string
  measure: string
  before: Spread
  now: Spread
  /** now / before, of the medians. */
  change: number
  verdict: 'same' | 'better' | 'worse'
}

/** Below this a change is not worth a word, even where no round of one run reached into the other. */
const least = { throughput: 0.05, latency: 0.15 }
/** A run of fewer rounds does not show its own noise; then only a change nobody would call noise counts. */
const fewRounds = 3
const leastOfFew = { throughput: 0.15, latency: 0.5 }

/**
 * What both runs measured. Throughput is taken against bare node:http of the same run where both have it, so that a
 * slower machine is no regression. Worse is: no overlap between the rounds of both, and medians further apart than noise.
 */
export function compare (before: Results, now: Results): Comparison[] {
  return now.measurements.flatMap(({ spec, rounds }) => {
    const old = before.measurements.find((one) => specKey(one.spec) === specKey(spec))
    if (old === undefined || old.rounds.length === 0 || rounds.length === 0) return []
    if (spec.kind === 'open') {
      return [judged(specKey(spec), 'p99, microseconds', p99(old.rounds), p99(rounds), 'latency')]
    }
    const bases = [bareOf(spec, before.measurements), bareOf(spec, now.measurements)] as const
    if (spec.server !== 'bare' && bases[0] !== undefined && bases[1] !== undefined) {
      return [judged(specKey(spec), '÷ bare', ratio(perSecond(old.rounds), bases[0]), ratio(perSecond(rounds), bases[1]), 'throughput')]
    }
    if (spec.server === 'bare') return []
    return [judged(specKey(spec), 'a second', spread(perSecond(old.rounds)), spread(perSecond(rounds)), 'throughput')]
  })
}

function judged (key: string, measure: string, before: Spread, now: Spread, kind: keyof typeof least): Comparison {
  const change = now.median / before.median
  const gain = kind === 'latency' ? 1 / change : change
  const few = Math.min(before.rounds, now.rounds) < fewRounds
  const apart = few || now.low > before.high || now.high < before.low
  const beyond = Math.abs(1 - gain) > (few ? leastOfFew : least)[kind]
  return { key, measure, before, now, change, verdict: !apart || !beyond ? 'same' : gain < 1 ? 'worse' : 'better' }
}

function bareOf (spec: Spec, measurements: readonly Measurement[]): number[] | undefined {
  const found = measurements.find(({ spec: other, rounds }) => rounds.length > 0 && other.kind === 'closed' && other.server === 'bare' &&
    other.caseName === spec.caseName && other.connections === spec.connections)
  return spec.kind === 'closed' && found !== undefined ? perSecond(found.rounds) : undefined
}

function perSecond (rounds: readonly Round[]): number[] {
  return rounds.map((round) => round.perSecond)
}

function p99 (rounds: readonly Round[]): Spread {
  return spread(rounds.map((round) => round.latency?.p99 ?? NaN))
}
