import {
  countText, keepsUp, medianOf, p99Text, rangeText, ratioText, roundsKeptUp, throughputText, timeText,
  type Base, type Figure
} from './figures.js'
import type { Measurement, Results } from './results.js'

export interface Column {
  head: string
  /** What it says, if its head does not. */
  legend?: string
  cell: (measurement: Measurement) => string | undefined
  /** Of columns that do not fit, those of the highest rank are left out. */
  rank: number
  /** Whether it divides the figure to its left. */
  isRatio?: boolean
  /** Whether it tells what was measured, and so begins each row. */
  isName?: boolean
}

const ratioLegends: Record<Base, string> = {
  bare: 'the figure to its left, divided by that of bare node:http',
  'group commit': 'the figure to its left, divided by that of the group commit on the same store',
  nearest: 'the figure to its left, divided by that at the first distance',
  plain: 'the figure to its left, divided by that of the server without an @'
}

/** The columns for measurements of one case. */
export function columnsOf (results: Results, [first]: readonly Measurement[]): Column[] {
  const named: Column[] = [
    { head: 'server', rank: 0, isName: true, cell: ({ label }) => label },
    {
      head: 'rate',
      legend: 'requests sent per second',
      rank: 0,
      isName: true,
      cell: ({ spec }) => countText(spec.rate)
    },
    {
      head: 'distance',
      legend: 'added to each round trip to the database',
      rank: 0,
      isName: true,
      cell: ({ spec }) => spec.distance === undefined ? '' : `${spec.distance} ms`
    },
    {
      head: 'connections',
      rank: 0,
      isName: true,
      cell: ({ spec }) => spec.case === 'commits' ? String(spec.connections) : ''
    }
  ]
  if (first?.spec.case === 'price') return [...named, ...priceColumns]
  return [...named, ...first?.spec.rate === undefined ? closedLoopColumns(results) : openLoopColumns(results)]
}

function time (head: string, figure: Figure, rank: number, legend?: string): Column {
  return { head, rank, cell: one => timeText(medianOf(one, figure)), ...legend === undefined ? {} : { legend } }
}

const priceColumns: Column[] = [
  time('price', 'price', 0, 'processor time of a request, its client included'),
  {
    head: 'first ÷ it',
    legend: 'the price of the first server, divided by that of this one right after',
    rank: 0,
    cell: one => medianOf(one, 'firstDividedByIt')?.toFixed(3)
  },
  {
    head: 'range',
    legend: 'the lowest and the highest round',
    rank: 0,
    cell: one => rangeText(one, 'firstDividedByIt', ratio => ratio.toFixed(3))
  }
]

const BUSIEST = "processor time per response of the server's busiest thread"
const ALL_THREADS = 'of all its threads'
const GENERATOR = "the load generator's processor time per response"

function closedLoopColumns (results: Results): Column[] {
  const ratio = (base: Base, figure: Figure, rank: number): Column => ({
    head: `÷ ${base}`,
    legend: ratioLegends[base],
    rank,
    isRatio: true,
    cell: one => ratioText(base, one, figure, results)
  })
  return [
    { head: 'requests/s', legend: 'with ≥, the load generator was the limit', rank: 0, cell: throughputText },
    ratio('bare', 'perSecond', 1),
    ratio('nearest', 'perSecond', 1),
    ratio('group commit', 'perSecond', 3),
    ratio('plain', 'perSecond', 1),
    {
      head: 'range',
      legend: 'of requests/s, the lowest and the highest round',
      rank: 2,
      cell: one => rangeText(one, 'perSecond', countText)
    },
    time('busiest', 'busiestThread', 1, BUSIEST),
    ratio('bare', 'busiestThread', 2),
    ratio('plain', 'busiestThread', 1),
    time('all threads', 'allThreads', 1, ALL_THREADS),
    ratio('bare', 'allThreads', 5),
    ratio('plain', 'allThreads', 2),
    time('p50', 'p50', 3, 'the latency that half of the requests did not exceed'),
    time('p99', 'p99', 3, 'the latency that 99 % did not exceed'),
    { head: 'plants per commit', rank: 0, cell: one => medianOf(one, 'plantsPerCommit')?.toFixed(1) },
    time('generator', 'generator', 7, GENERATOR)
  ]
}

function openLoopColumns ({ method }: Results): Column[] {
  return [
    { head: 'requests/s', legend: 'that were answered', rank: 4, cell: throughputText },
    {
      head: 'kept up',
      legend: 'in how many rounds at least 95 % of the rate was answered',
      rank: 0,
      cell: one => `${roundsKeptUp(one).length} of ${one.rounds.length}`
    },
    time('p50', 'p50', 1, 'the latency that half of the requests did not exceed'),
    { head: 'p99', legend: 'the latency that 99 % did not exceed', rank: 0, cell: p99Text },
    {
      head: 'p99.9',
      rank: 1,
      // With fewer than 10,000 samples, fewer than ten are beyond it.
      cell: one => keepsUp(one) && (one.spec.rate ?? 0) * method.latencySeconds >= 10_000
        ? timeText(medianOf(one, 'p999'))
        : ''
    },
    time('max', 'max', 1),
    time('generator late', 'lateness', 2, 'p99 of how late the load generator started requests'),
    time('busiest', 'busiestThread', 5, BUSIEST),
    time('all threads', 'allThreads', 5, ALL_THREADS),
    time('generator', 'generator', 7, GENERATOR)
  ]
}
