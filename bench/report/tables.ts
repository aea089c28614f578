import { cases, connectionsText } from '../plan/cases.js'
import { contender } from '../plan/contenders.js'
import { figureColumns, names, type Column } from './columns.js'
import { groupedBy } from './figures.js'
import type { Measurement, Results } from './results.js'

/** In characters: it fits a terminal, and in the font of the page a window of 1,000 px. */
const WIDTH = 100

/** Describes the MongoDB of a run. */
export const mongoName = ({ mongodb }: Results): string =>
  mongodb?.description ?? 'MongoDB scripted in memory, nothing is durable'

/**
 * A table for each case, its connections and its store, without columns that would be empty, and with an explanation of
 * those that it has. Columns that do not fit stand below the others, beside the names.
 */
export function tables (results: Results): string {
  const groups = groupedBy(results.measurements, one => `${titleOf(one, results)}\n${one.spec.node ?? ''}`)
  return groups.map(measurements => {
    const named = filled(names, measurements)
    const groups = figureColumns(results, measurements).map(group => filled(group, measurements))
    const legends = [...named, ...groups.flat()].filter(({ legend }) => legend !== undefined)
    const explained = new Set(legends.map(({ head, legend }) => `${head}: ${legend}`))
    return [
      ...measurements.slice(0, 1).map(first => titleOf(first, results)),
      ...parts(named, groups).map(textOf),
      ...wrapped([...explained].join('; ')),
      ''
    ].join('\n')
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

/** As many groups beside the names as fit, the others in further parts. */
function parts (named: readonly Filled[], groups: readonly Filled[][]): Filled[][] {
  const found: Filled[][] = []
  let part = [...named]
  for (const group of groups) {
    if (widthOf([...part, ...group]) > WIDTH) {
      found.push(part)
      part = [...named]
    }
    part.push(...group)
  }
  return [...found, part]
}

function textOf (columns: readonly Filled[]): string {
  const rows = columns[0]?.cells ?? []
  return rows.map((_, row) => columns.map(({ cells, width }, index) => {
    const cell = cells[row] ?? ''
    return index === 0 ? `  ${cell.padEnd(width - 2)}` : cell.padStart(width)
  }).join('').trimEnd()).join('\n')
}

/** Breaks lines at spaces, so that they fit. */
export function wrapped (text: string): string[] {
  const broken = new RegExp(`(.{1,${WIDTH}})(?: |$)`, 'g')
  return text.split('\n').flatMap(line =>
    line.length <= WIDTH ? [line] : line.replace(broken, '$1\n').trimEnd().split('\n'))
}
