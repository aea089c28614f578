import {
  countText, medianOf, p99Text, rangeText, ratioText, roundsKeptUp, throughputText, timeText,
  type Base, type Figure
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
  {
    head: 'distance',
    legend: 'added to each round trip to the database',
    cell: ({ spec }) => spec.distance === undefined ? '' : `${spec.distance} ms`
  },
  { head: 'connections', cell: ({ spec }) => spec.case === 'commits' ? String(spec.connections) : '' }
]

/** The figures of measurements of one case. Columns of a group stand beside one another. */
export function figureColumns (results: Results, [first]: readonly Measurement[]): Column[][] {
  if (first?.spec.case === 'price') return priceColumns
  return first?.spec.rate === undefined ? closedLoopColumns(results) : openLoopColumns()
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

const priceColumns: Column[][] = [[
  time('price', 'price', 'processor time of a request, its client included'),
  {
    head: 'first ÷ it',
    legend: 'the price of the first server, divided by that of this one right after',
    cell: one => medianOf(one, 'firstDividedByIt')?.toFixed(3)
  },
  range('firstDividedByIt', ratio => ratio.toFixed(3))
]]

const bases: Record<Base, string> = {
  bare: 'that of bare node:http', nearest: 'that at the first distance', plain: 'that of the server without an @'
}

function closedLoopColumns (results: Results): Column[][] {
  const withRatios = (column: Column, figure: Figure): Column[] => [
    column,
    ...Object.entries(bases).map(([base, legend]): Column => ({
      head: `÷ ${base}`,
      legend: `the figure to its left, divided by ${legend}`,
      cell: one => ratioText(base as Base, one, figure, results)
    }))
  ]
  return [
    withRatios(throughput, 'perSecond'),
    [range('perSecond', countText)],
    [{ head: 'plants per commit', cell: one => medianOf(one, 'plantsPerCommit')?.toFixed(1) }],
    withRatios(busiest, 'busiestThread'),
    [allThreads],
    [p50],
    [time('p99', 'p99', '99 % did')],
    [generator]
  ]
}

function openLoopColumns (): Column[][] {
  const keptUp: Column = {
    head: 'kept up',
    legend: 'in how many rounds at least 95 % of the rate was answered',
    cell: one => `${roundsKeptUp(one).length} of ${one.rounds.length}`
  }
  const p99: Column = { head: 'p99', legend: '99 % did', cell: p99Text }
  const late = time('generator late', 'lateness', 'p99 of how late the load generator started requests')
  return [
    keptUp, p50, p99, time('max', 'max'), late, throughput, busiest, allThreads, generator
  ].map(column => [column])
}
