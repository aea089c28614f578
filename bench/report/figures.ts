import type { Round } from '../load/measurement-window.js'
import { specKey, type Spec } from '../plan/cases.js'
import { contender } from '../plan/contenders.js'
import type { Measurement, Results } from './results.js'

/** The name of a figure of a round. */
export type Figure = Exclude<keyof Round, 'keptUp'>

/** What a measurement is compared with. */
export type Base = 'bare' | 'nearest' | 'plain' | 'group'

function baseOf (base: Base, { spec }: Measurement, all: readonly Measurement[]): Measurement | undefined {
  const bases: Record<Base, Spec> = {
    bare: { ...spec, server: 'bare' },
    nearest: { ...spec, distance: all.find(other => other.spec.case === 'distance')?.spec.distance },
    plain: { ...spec, server: spec.server.replace(/@.*/, '') },
    group: { ...spec, server: `group-${contender(spec.server).store}` }
  }
  return all.find(other => specKey(other.spec) === specKey(bases[base]))
}

const valuesOf = (rounds: readonly Round[], figure: Figure): number[] =>
  rounds.flatMap(round => round[figure] ?? [])

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
  const other = baseOf(base, one, measurements)
  if (other === undefined || other === one || (figure === 'perSecond' && [other, one].some(isAtLeast))) return ''
  const others = valuesOf(other.rounds, figure)
  const ratios = valuesOf(one.rounds, figure).slice(0, others.length)
    .map((value, round) => value / (others[round] ?? NaN))
  return median(ratios)?.toFixed(2) ?? ''
}

/** The ratio of the medians to those of a base: a p99 differs more from round to round than machines do. */
export function medianRatioText (base: Base, one: Measurement, figure: Figure, { measurements }: Results): string {
  const other = baseOf(base, one, measurements)
  if (other === undefined || other === one || ![one, other].every(keepsUp)) return ''
  return ((medianOf(one, figure) ?? NaN) / (medianOf(other, figure) ?? NaN)).toFixed(2)
}

export const throughputText = (one: Measurement): string =>
  `${isAtLeast(one) ? '≥ ' : ''}${countText(medianOf(one, 'perSecond'))}`

export const CANNOT_KEEP_UP = 'cannot keep up'
export const TOO_SLOW = 'too slow'

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

export function groupedBy<T> (all: readonly T[], keyOf: (one: T) => string): T[][] {
  const groups = new Map<string, T[]>()
  for (const one of all) groups.set(keyOf(one), [...groups.get(keyOf(one)) ?? [], one])
  return [...groups.values()]
}
