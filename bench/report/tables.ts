import { cases, connectionsText } from '../plan/cases.js'
import { contender } from '../plan/contenders.js'
import { columnsOf, type Column } from './columns.js'
import { medianOf, rangeOf } from './figures.js'
import type { Measurement, Results } from './results.js'

/** The command, the machine and the versions of a run. */
export function header (results: Results): string {
  const { date, command, method, machine, versions, mongodb } = results
  const lines = [
    command,
    `${method.isPublished ? 'a published run' : 'a quick run (--published makes a long one)'}; rounds: ` +
    `${method.rounds}, each of ${method.seconds} s (latency: ${method.latencySeconds} s) after a lead-in of ` +
    `${method.leadIn} s; warm-up of each server ${method.warmUp} s`,
    steadiness(results),
    `${machine}; ${date.slice(0, 16).replace('T', ' ')} UTC`,
    Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', '),
    mongodb?.description
  ]
  return `${lines.filter(Boolean).join('\n')}\n`
}

/** How far the rounds of the bare server differ, which is always the same program. */
function steadiness ({ method, measurements }: Results): string {
  const bare = measurements.find(({ spec }) => spec.server === 'bare' && spec.case !== 'price')
  const range = bare && rangeOf(bare.rounds, 'perSecond')
  const middle = bare && medianOf(bare, 'perSecond')
  if (range === undefined || middle === undefined || method.rounds === 1) return ''
  const differs = (range.high - range.low) / middle * 100
  const wasBusy = differs > 10 ? ': the machine was not idle' : ''
  return `the rounds of bare node:http differ by ${differs.toFixed(0)} %${wasBusy}`
}

/** Describes the MongoDB of a run. */
export const mongoName = ({ mongodb }: Results): string =>
  mongodb?.description ?? 'MongoDB scripted in memory, nothing is durable'

/** In characters. Columns that do not fit stand below the others, or are left out. */
interface Width { width: number, others: 'below' | 'left out' }

/**
 * A table for each case, its connections and its store, without columns that would be empty, and with an explanation of
 * those that it has.
 */
export function tables (results: Results, { width, others }: Width = { width: 100, others: 'left out' }): string {
  const groups = new Map<string, Measurement[]>()
  for (const measurement of results.measurements) {
    const key = `${titleOf(measurement, results)}\n${measurement.spec.runtime ?? ''}`
    groups.set(key, [...groups.get(key) ?? [], measurement])
  }
  return [...groups.values()].map(measurements => {
    const [first] = measurements
    const title = first === undefined ? '' : titleOf(first, results)
    const columns = filled(columnsOf(results, measurements), measurements)
    const parts = others === 'below' ? divided(columns, width) : [fitting(columns, width)]
    const legend = parts.flat().flatMap(({ head, legend }) => legend === undefined ? [] : `${head}: ${legend}`)
    const explained = legend.length === 0 ? [] : wrapped([...new Set(legend)].join('; '), width)
    return [title, ...parts.map(textOf), ...explained, ''].join('\n')
  }).join('\n')
}

function titleOf ({ spec: { case: name, connections, server } }: Measurement, results: Results): string {
  const at = name === 'commits' ? '' : `, ${connectionsText(connections)}`
  const store = contender(server).store === 'mongodb' ? `; ${mongoName(results)}` : ''
  return `${name}: ${cases[name].what}${at}${store}`
}

interface Filled extends Column { cells: string[], width: number }

/** Without those that have no value in any row. */
function filled (columns: readonly Column[], measurements: readonly Measurement[]): Filled[] {
  return columns.flatMap(column => {
    const values = measurements.map(one => column.cell(one) ?? '')
    if (values.every(value => value === '')) return []
    const cells = [column.head, ...values]
    return [{ ...column, cells, width: 2 + Math.max(...cells.map(({ length }) => length)) }]
  })
}

const widthOf = (columns: readonly Filled[]): number => columns.reduce((sum, { width }) => sum + width, 0)

function fitting (columns: readonly Filled[], width: number): Filled[] {
  const left = [...columns]
  while (widthOf(left) > width) {
    const highest = Math.max(...left.map(({ rank }) => rank))
    left.splice(left.findLastIndex(({ rank }) => rank === highest), 1)
  }
  return left
}

/** Each part begins with what was measured, and has a ratio beside the figure that it divides. */
function divided (columns: readonly Filled[], width: number): Filled[][] {
  const names = columns.filter(({ isName }) => isName)
  const figures: Filled[][] = []
  for (const column of columns.slice(names.length)) {
    if (column.isRatio) figures.at(-1)?.push(column)
    else figures.push([column])
  }
  const parts: Filled[][] = []
  let part = [...names]
  for (const withRatios of figures) {
    if (widthOf([...part, ...withRatios]) > width) {
      parts.push(part)
      part = [...names]
    }
    part.push(...withRatios)
  }
  return [...parts, part]
}

function textOf (columns: readonly Filled[]): string {
  const rows = columns[0]?.cells ?? []
  return rows.map((_, row) => columns.map(({ cells, width }, index) => {
    const cell = cells[row] ?? ''
    return index === 0 ? `  ${cell.padEnd(width - 2)}` : cell.padStart(width)
  }).join('').trimEnd()).join('\n')
}

/** Breaks lines at spaces, so that they fit. */
export function wrapped (text: string, width = 100): string[] {
  const broken = new RegExp(`(.{1,${width}})(?: |$)`, 'g')
  return text.split('\n').flatMap(line =>
    line.length <= width ? [line] : line.replace(broken, '$1\n').trimEnd().split('\n'))
}
