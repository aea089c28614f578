import {
  countText, keepsUp, medianOf, medianRatioText, p99Text, rangeText, ratioText, roundsKeptUp, throughputText, timeText,
  TOO_SLOW, type Base, type Figure
} from './figures.js'
import type { Measurement, Results } from './results.js'

export interface Column {
  head: string
  /** What it says, if its head does not. */
  legend?: string | undefined
  cell: (measurement: Measurement) => string | undefined
}

/** What tells the measurements of one case apart. */
export const names: Column[] = [
  { head: 'server', cell: ({ label }) => label },
  { head: 'rate', legend: 'requests sent per second', cell: ({ spec }) => countText(spec.rate) },
  { head: 'stored', legend: 'plants that were there before', cell: ({ spec }) => countText(spec.stored) },
  {
    head: 'distance',
    legend: 'added to each round trip to the database',
    cell: ({ spec }) => spec.distance === undefined ? '' : `${spec.distance} ms`
  },
  { head: 'connections', cell: ({ spec }) => spec.case === 'commits' ? String(spec.connections) : '' }
]

/** The figures of measurements of one case. Columns of a group stand beside one another. */
export function figureColumns (results: Results, [first]: readonly Measurement[]): Column[][] {
  switch (first?.spec.case) {
    case 'price': return alternationColumns('price', 'processor time of a request, its client included')
    case 'one-create': return alternationColumns('p50', 'from the call of the store until the plant is stored')
    case 'start': return alternationColumns('start', 'until the server prints its address')
    case 'stored': return storedColumns
    case 'latency': return openLoopColumns(results)
    default: return closedLoopColumns(results)
  }
}

function time (head: string, figure: Figure, legend?: string): Column {
  return { head, legend, cell: one => timeText(medianOf(one, figure)) }
}

function range (figure: Figure, text: (value: number) => string): Column {
  return { head: 'range', legend: 'the lowest and the highest round', cell: one => rangeText(one, figure, text) }
}

const throughput: Column = {
  head: 'requests/s', legend: 'answered; ≥ if the load generator was the limit', cell: throughputText
}
const busiest = time('busiest', 'busiestThread', "processor time per response of the server's busiest thread")
const allThreads = time('all threads', 'allThreads', 'of all its threads')
const generator = time('generator', 'generator', "the load generator's own processor time per response")
const p50 = time('p50', 'p50', 'half of the requests took at most so long')

const alternationColumns = (head: string, legend: string): Column[][] => [[
  time(head, 'price', legend),
  {
    head: 'first ÷ it',
    legend: 'that of the first server, divided by that of this one in the same turn',
    cell: one => medianOf(one, 'firstDividedByIt')?.toFixed(3)
  },
  range('firstDividedByIt', ratio => ratio.toFixed(3))
]]

const storedColumns: Column[][] = [[{
  head: 'p50',
  legend: `half of the requests took at most so long; ${TOO_SLOW}: one had no response within 10 s`,
  cell: one => keepsUp(one) ? timeText(medianOf(one, 'p50')) : TOO_SLOW
}, range('p50', timeText)]]

const bases: Record<Base, string> = {
  bare: 'bare node:http',
  nearest: 'the first distance',
  plain: 'the server without an @',
  group: 'the group commit on the same store'
}

/** A column with its ratios to what it is compared with. */
function withRatios (column: Column, figure: Figure, of: Base[], results: Results, ratio = ratioText): Column[] {
  return [column, ...of.map((base): Column => ({
    head: `÷ ${base}`,
    legend: `the figure to its left, divided by that of ${bases[base]}`,
    cell: one => ratio(base, one, figure, results)
  }))]
}

function closedLoopColumns (results: Results): Column[][] {
  return [
    withRatios(throughput, 'perSecond', ['bare', 'nearest', 'plain', 'group'], results),
    [range('perSecond', countText)],
    [{ head: 'plants per commit', cell: one => medianOf(one, 'plantsPerCommit')?.toFixed(1) }],
    withRatios(busiest, 'busiestThread', ['bare', 'plain'], results),
    withRatios(allThreads, 'allThreads', ['group'], results),
    [p50],
    [time('p99', 'p99', '99 % did')],
    [generator]
  ]
}

function openLoopColumns (results: Results): Column[][] {
  const keptUp: Column = {
    head: 'kept up',
    legend: 'in how many rounds at least 95 % of the rate was answered',
    cell: one => `${roundsKeptUp(one).length} of ${one.rounds.length}`
  }
  const p99: Column = { head: 'p99', legend: '99 % did', cell: p99Text }
  const late = time('generator late', 'lateness', 'p99 of how late the load generator started requests')
  return [
    [keptUp],
    [p50],
    withRatios(p99, 'p99', ['plain', 'group'], results, medianRatioText),
    [time('max', 'max')],
    [late],
    [throughput],
    [busiest],
    withRatios(allThreads, 'allThreads', ['plain', 'group'], results),
    [generator]
  ]
}
