import type { Percentiles, Round } from '../load/round.js'
import { specKey, type Spec } from '../plan/cases.js'
import { contender } from '../plan/contenders.js'
import type { Measurement, Results } from './results.js'

/** The name of a figure of a round. */
export type Figure = Exclude<keyof Round, 'latency' | 'keptUp'> | keyof Percentiles

/** What a measurement is compared with: a spec derived from its own. */
const bases = {
  bare: spec => ({ ...spec, server: 'bare' }),
  'group commit': spec => ({ ...spec, server: `group-${contender(spec.server).store}` }),
  nearest: ({ server, connections, distance }, all) => all.find(one =>
    distance !== undefined && one.case === 'distance' && one.server === server && one.connections === connections),
  plain: spec => ({ ...spec, server: spec.server.replace(/@.*/, '') })
} satisfies Record<string, (spec: Spec, all: readonly Spec[]) => Spec | undefined>

export type Base = keyof typeof bases

const valuesOf = (rounds: readonly Round[], figure: Figure): number[] =>
  rounds.flatMap(round => ({ ...round, ...round.latency })[figure] ?? [])

export function median (values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const [lower, upper] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return lower === undefined || upper === undefined ? undefined : (lower + upper) / 2
}

export const medianOf = (one: Measurement, figure: Figure): number | undefined => median(valuesOf(one.rounds, figure))

/** The lowest and highest value, not a standard deviation: a few rounds are not a distribution. */
export function rangeOf (rounds: readonly Round[], figure: Figure): { low: number, high: number } | undefined {
  const values = valuesOf(rounds, figure)
  return values.length === 0 ? undefined : { low: Math.min(...values), high: Math.max(...values) }
}

/** The rounds in which the server kept up with its rate; in closed loops all. */
export const roundsKeptUp = ({ rounds }: Measurement): Round[] => rounds.filter(({ keptUp }) => keptUp !== false)

/** A server keeps up with a rate if it did so in more than half of the rounds. */
export const keepsUp = (one: Measurement): boolean => roundsKeptUp(one).length * 2 > one.rounds.length

/** The generator was saturated, so the throughput is a lower bound. */
const isAtLeast = (one: Measurement): boolean => (medianOf(one, 'generatorBusy') ?? 0) > 0.9

/**
 * The median of the ratios to a base within each round, whose measurements ran close together. Empty if there is none:
 * for throughputs also if one of them is a lower bound.
 */
export function ratioText (base: Base, one: Measurement, figure: Figure, { measurements }: Results): string {
  const spec = bases[base](one.spec, measurements.map(({ spec }) => spec))
  const other = measurements.find(other => spec !== undefined && specKey(other.spec) === specKey(spec))
  if (other === undefined || other === one || (figure === 'perSecond' && [other, one].some(isAtLeast))) return ''
  const others = valuesOf(other.rounds, figure)
  const ratios = valuesOf(one.rounds, figure).slice(0, others.length)
    .map((value, round) => value / (others[round] ?? NaN))
  return median(ratios)?.toFixed(2) ?? ''
}

export const throughputText = (one: Measurement): string => {
  const perSecond = countText(medianOf(one, 'perSecond'))
  return isAtLeast(one) ? `≥ ${perSecond}` : perSecond
}

export const CANNOT_KEEP_UP = 'cannot keep up'

/** The p99, or the reason why an open loop has none. */
export const p99Text = (one: Measurement): string =>
  keepsUp(one) ? timeText(medianOf(one, 'p99')) : CANNOT_KEEP_UP

export function rangeText (one: Measurement, figure: Figure, text: (value: number) => string): string {
  const range = rangeOf(one.rounds, figure)
  return range === undefined ? '' : `${text(range.low)}–${text(range.high)}`
}

export const countText = (value: number | undefined): string =>
  value?.toLocaleString('en', { maximumFractionDigits: 0 }) ?? ''

/** Formats microseconds with the unit that suits them. */
export function timeText (micros: number | undefined): string {
  if (micros === undefined) return ''
  if (micros < 1000) return `${micros.toFixed(micros < 100 ? 1 : 0)} µs`
  return micros < 1e6 ? `${(micros / 1000).toFixed(micros < 1e4 ? 2 : 1)} ms` : `${(micros / 1e6).toFixed(2)} s`
}
