import { contender } from '../contenders.js'
import { specKey, type Measurement, type Results, type Round, type Spec } from '../results.js'
import { median, spread, type Spread } from '../statistics.js'

/** Selects a figure of a round. */
export type Figure = (round: Round) => number | undefined
export const perSecond: Figure = round => round.perSecond
export const busiestThread: Figure = round => round.busiestThread
export const allThreads: Figure = round => round.allThreads
export const p99: Figure = round => round.latency?.p99
export const perCommit: Figure = round => round.plantsPerCommit
export const generator: Figure = round => round.generator

/** What a measurement is compared with: a spec derived from its own. */
const bases = {
  bare: spec => ({ ...spec, server: 'bare' }),
  'group commit': spec => ({ ...spec, server: `group-${contender(spec.server).store}` }),
  nearest: (spec, all) => all.find(one => spec.case === 'distance' && one.case === 'distance' && one.server === spec.server),
  plain: spec => ({ ...spec, server: spec.server.replace(/@.*/, '') })
} satisfies Record<string, (spec: Spec, all: readonly Spec[]) => Spec | undefined>

export type Base = keyof typeof bases

const valuesOf = ({ rounds }: Measurement, pick: Figure): number[] => rounds.flatMap(round => pick(round) ?? [])

export function figure (measurement: Measurement, pick: Figure): Spread | undefined {
  const values = valuesOf(measurement, pick)
  return values.length === 0 ? undefined : spread(values)
}

export const medianOf = (one: Measurement, pick: Figure): number | undefined => figure(one, pick)?.median

/** A server keeps up with a rate if it did so in more than half of the rounds. */
export function keepsUp ({ rounds }: Measurement): boolean {
  return rounds.filter(({ keptUp }) => keptUp === false).length * 2 < rounds.length
}

/** The generator was saturated, so the throughput is a lower bound. */
export function isAtLeast (measurement: Measurement): boolean {
  return (medianOf(measurement, round => round.generatorBusy) ?? 0) > 0.9
}

/**
 * The median of the ratios to a base within each round, whose measurements ran close together. Empty if there is none:
 * for throughputs also if one of them is a lower bound.
 */
export function ratioText (base: Base, one: Measurement, pick: Figure, { measurements }: Results): string {
  const spec = bases[base](one.spec, measurements.map(({ spec }) => spec))
  const other = measurements.find(other => spec !== undefined && specKey(other.spec) === specKey(spec))
  if (other === undefined || other === one || (pick === perSecond && [other, one].some(isAtLeast))) return ''
  const others = valuesOf(other, pick)
  const ratios = valuesOf(one, pick).slice(0, others.length).map((value, round) => value / (others[round] ?? NaN))
  return ratios.length === 0 ? '' : median(ratios).toFixed(2)
}

export function throughputText (measurement: Measurement): string {
  return `${isAtLeast(measurement) ? '≥ ' : ''}${countText(medianOf(measurement, perSecond))}`
}

/** The p99, or the reason why an open loop has none. */
export function p99Text (measurement: Measurement): string {
  return keepsUp(measurement) ? timeText(medianOf(measurement, p99)) : 'cannot keep up'
}

export function countText (value: number | undefined): string {
  return value === undefined ? '' : Math.round(value).toLocaleString('en')
}

/** Formats microseconds with the unit that suits them. */
export function timeText (micros: number | undefined): string {
  if (micros === undefined) return ''
  if (micros < 1000) return `${micros.toFixed(micros < 100 ? 1 : 0)} µs`
  return micros < 1e6 ? `${(micros / 1000).toFixed(micros < 1e4 ? 2 : 1)} ms` : `${(micros / 1e6).toFixed(2)} s`
}
