import type { Comparison } from '../compare.js'
import type { Results } from '../results.js'
import type { TargetRow } from '../targets.js'
import { groups } from './groups.js'
import type { Group, Row } from './groups.js'
import { countText, rangeText, ratioText, timeText } from './numbers.js'

export interface Column { head: string, text: (row: Row) => string }

const name: Column = { head: 'server', text: ({ label }) => label }
const rates: Column[] = [
  { head: 'a second', text: ({ perSecond }) => countText(perSecond?.median) },
  { head: 'lowest–highest', text: ({ perSecond }) => rangeText(perSecond) }
]
const quick: Column[] = [
  { head: 'p50', text: ({ latency }) => timeText(latency?.p50) },
  { head: 'p99', text: ({ latency }) => timeText(latency?.p99) }
]
const costs: Column[] = [
  { head: 'CPU', text: ({ processorMicros }) => timeText(processorMicros) },
  { head: 'memory', text: ({ peakMemory }) => peakMemory === undefined ? '' : `${countText(peakMemory)} MB` }
]
const note: Column = { head: 'note', text: noteText }

/** Ratios first: they hold on other machines, the plain figures only on this one. */
export function columns (kind: Group['kind']): Column[] {
  switch (kind) {
    case 'throughput': return [
      name,
      { head: '÷ bare', text: (row) => ratioText(row.toBare) },
      { head: '÷ Fastify', text: (row) => ratioText(row.toFastify) },
      { head: '÷ Express', text: (row) => ratioText(row.toExpress) },
      ...rates, ...quick, ...costs, note
    ]
    case 'growth': return [
      name,
      { head: 'plants', text: ({ spec }) => countText(spec.plants) },
      { head: '÷ empty', text: (row) => ratioText(row.toFirst) },
      ...rates, ...quick, ...costs, note
    ]
    case 'distance': return [
      name,
      { head: 'distance', text: ({ spec }) => `${spec.distance} ms` },
      { head: 'measured', text: ({ measuredDistance }) => measuredDistance === undefined ? '' : `${measuredDistance.toFixed(1)} ms` },
      { head: '÷ nearest', text: (row) => ratioText(row.toFirst) },
      ...rates, ...quick, ...costs, note
    ]
    case 'latency': return [
      name,
      { head: 'rate', text: ({ rate, spec }) => `${countText(rate)}${typeof spec.rate === 'object' ? ` (${spec.rate.share * 100}%)` : ''}` },
      ...([['50', 'p50'], ['90', 'p90'], ['99', 'p99'], ['99.9', 'p999'], ['99.99', 'p9999'], ['max', 'max']] as const)
        .map(([head, field]) => ({ head, text: ({ latency }: Row) => timeText(latency?.[field]) })),
      ...costs, note
    ]
  }
}

function noteText ({ left, remark, generatorBusy = 0, unanswered = 0, lateness = 0, spec }: Row): string {
  if (left !== undefined) return `not measured: ${left}`
  return [
    ...(remark === undefined ? [] : [remark]),
    // The open loop naps instead of spinning, so that its event loop always looks busy.
    ...(generatorBusy > 0.95 && spec.kind === 'closed' ? [`load generator ${Math.round(generatorBusy * 100)}% busy: it may be what is measured`] : []),
    ...(unanswered > 0 ? [`${countText(unanswered)} starts never answered`] : []),
    ...(lateness > 0 ? [`generator's own lateness ${timeText(lateness)} at p99`] : [])
  ].join('; ')
}

export function measurementTables (results: Results): string {
  return groups(results.measurements).map(({ kind, title, rows }) => {
    const shown = columns(kind)
    return `${title}\n${lines([shown.map(({ head }) => head), ...rows.map((row) => shown.map(({ text }) => text(row)))])}\n`
  }).join('')
}

export function targetCells (rows: readonly TargetRow[]): string[][] {
  return [
    ['target', 'measured', 'at least', 'stretch', 'verdict'],
    ...rows.map(({ what, value, unit, atLeast, stretch, less, verdict }) => {
      const with_ = (text: string): string => unit === undefined || text === '' ? text : `${text} ${unit}`
      const limit = (number: number): string => with_(`${less ? '≤ ' : ''}${number}`)
      return [what, with_(ratioText(value)), limit(atLeast), limit(stretch), verdict]
    })
  ]
}

export function targetTable (rows: readonly TargetRow[]): string {
  return `targets (ratios of medians)\n${lines(targetCells(rows))}\n`
}

export function comparisonCells (comparisons: readonly Comparison[]): string[][] {
  const text = (value: Comparison['now']): string => value.median < 100 ? ratioText(value) : countText(value.median)
  return [
    ['measurement', 'figure', 'before', 'now', 'now ÷ before', 'verdict'],
    ...comparisons.map(({ key, measure, before, now, change, verdict }) =>
      [key, measure, text(before), text(now), change.toFixed(2), verdict === 'worse' ? 'WORSE' : verdict])
  ]
}

export function comparisonTable (comparisons: readonly Comparison[], name: string): string {
  return `against ${name}\n${lines(comparisonCells(comparisons))}\n`
}

function lines (rows: readonly string[][]): string {
  const shown = (rows[0] ?? []).map((_, column) => rows.slice(1).some((row) => row[column] !== ''))
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  return rows.map((row) => '  ' + row
    .map((cell, column) => isText(rows, column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))
    .filter((_, column) => shown[column])
    .join('  ').trimEnd() + '\n').join('')
}

function isText (rows: readonly string[][], column: number): boolean {
  return column === 0 || ['note', 'verdict', 'figure'].includes(rows[0]?.[column] ?? '')
}
