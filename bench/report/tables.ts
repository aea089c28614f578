import { caseOf } from '../cases.js'
import { specKey, type Measurement, type Results } from '../results.js'
import type { Spread } from '../statistics.js'
import { changes } from './changes.js'
import { allThreads, busiestThread, figure, generator, groups, isAtLeast, keepsUp, labelOf, lateness, medianOf, p99, perSecond, ratioTo, type Figure } from './figures.js'

type Column = [head: string, cell: (measurement: Measurement) => string | undefined]

/** One table for each group of measurements, without columns that would be empty. */
export function tables (results: Results, before?: Results): string {
  return [...groups(results)].map(([title, measurements]) => {
    const shown = columns(results, measurements, before).filter(([, cell]) => measurements.some(one => (cell(one) ?? '') !== ''))
    const rows = [shown.map(([head]) => head), ...measurements.map(one => shown.map(([, cell]) => cell(one) ?? ''))]
    const widths = shown.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
    const isText = ({ length }: string[], column: number): boolean => column === 0 || (column === length - 1 && shown.at(-1)?.[0] === 'note')
    const line = (row: string[]): string => row.map((text, column) => isText(row, column) ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0)).join('  ')
    return `${title}\n${rows.map(row => `  ${line(row).trimEnd()}\n`).join('')}\n`
  }).join('')
}

function columns (results: Results, [first]: readonly Measurement[], before: Results | undefined): Column[] {
  const compared = before && changes(before, results)
  const name = first?.spec.case ?? 'create'
  const { bases } = caseOf(name)
  const base = bases.slice(0, 1)
  const to = (base: string, pick: Figure): Column => [`÷ ${base === 'fastify' ? 'Fastify, same store' : base}`, one => ratioText(ratioTo(base, one, pick, results))]
  const time = (head: string, pick: Figure): Column => [head, one => timeText(medianOf(one, pick))]
  const count = (head: string, pick: Figure, unit: string, factor = 1): Column => [head, one => textOf(figure(one, pick), ({ median }) => `${countText(median * factor)} ${unit}`)]
  // With fewer than 10,000 samples, fewer than ten are beyond it.
  const p999: Column = ['p99.9', one => (one.spec.rate ?? 0) * results.method.latencySeconds < 10_000 ? '' : timeText(medianOf(one, round => round.latency?.p999))]
  const costs = (head: string, pick: Figure): Column[] => [time(head, pick), ...base.map(one => to(one, pick))]
  return [
    ['server', one => labelOf(one, results)],
    ['rate', ({ spec }) => countText(spec.rate)],
    ['distance', ({ spec }) => spec.distance === undefined ? '' : `${spec.distance} ms`],
    ['connections', ({ spec }) => name === 'commits' ? String(spec.connections) : ''],
    count('first answer', round => round.firstAnswer, 'ms'),
    to('hello', round => round.firstAnswer),
    ['requests/s', throughputText],
    ['lowest–highest', one => textOf(figure(one, perSecond), ({ low, high }) => `${countText(low)}–${countText(high)}`)],
    ...bases.map(base => to(base, perSecond)),
    ...costs('busiest thread, per response', busiestThread),
    ...costs('all threads', allThreads),
    time('p50', round => round.latency?.p50),
    time('p99', p99),
    ...(name === 'latency' ? [p999, time('max', round => round.latency?.max)] : []),
    ['plants per commit', one => medianOf(one, round => round.plantsPerCommit)?.toFixed(1)],
    time('generator, per response', generator),
    count('generator busy', round => round.generatorBusy, '%', 100),
    ['÷ before', one => compared?.get(specKey(one.spec))],
    ['note', note]
  ]
}

function note (measurement: Measurement): string {
  const late = medianOf(measurement, lateness)
  if (!keepsUp(measurement)) return latencyText(measurement)
  if (isAtLeast(measurement)) return 'limited by the generator'
  return late === undefined ? '' : `generator late by ${timeText(late)} at p99`
}

/** The p99 of an open loop, or the reason why there is none. */
export function latencyText (measurement: Measurement): string {
  if (keepsUp(measurement)) return timeText(medianOf(measurement, p99))
  // A server that cannot keep up with a rate is not measured at higher ones.
  return figure(measurement, perSecond) === undefined ? 'not tried' : 'cannot keep up'
}

export function throughputText (measurement: Measurement): string {
  const text = countText(medianOf(measurement, perSecond))
  return text !== '' && isAtLeast(measurement) ? `at least ${text}` : text
}

const textOf = (value: Spread | undefined, text: (value: Spread) => string): string => value === undefined ? '' : text(value)

/** For example `0.79 (0.76–0.81)`: the ratio of the medians, and the range of the rounds. */
export function ratioText (value: Spread | undefined): string {
  if (value === undefined) return ''
  const text = (number: number): string => number.toFixed(number < 10 ? 2 : 1)
  return `${text(value.median)}${value.rounds > 1 ? ` (${text(value.low)}–${text(value.high)})` : ''}`
}

export const countText = (value: number | undefined): string => value === undefined ? '' : Math.round(value).toLocaleString('en')

/** Formats microseconds with the unit that suits them. */
export function timeText (micros: number | undefined): string {
  if (micros === undefined) return ''
  if (micros < 1000) return `${micros.toFixed(micros < 100 ? 1 : 0)} µs`
  return micros < 1e6 ? `${(micros / 1000).toFixed(micros < 1e4 ? 2 : 1)} ms` : `${(micros / 1e6).toFixed(2)} s`
}
