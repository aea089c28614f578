import { contender } from '../contenders.js'
import { cases } from '../plan.js'
import { connectionsText, type Measurement, type Results } from '../results.js'
import {
  countText, keepsUp, medianOf, p99Text, rangeOf, ratioText, throughputText, timeText, type Base, type Figure
} from './figures.js'

/** The command, the machine and the versions of a run. */
export function header ({ date, command, method, machine, versions, mongodb, measurements }: Results): string {
  const bare = measurements.find(({ spec }) => spec.server === 'bare')
  const { low, high } = bare === undefined ? { low: 0, high: 0 } : rangeOf(bare, 'perSecond')
  const differs = bare && (high - low) / (medianOf(bare, 'perSecond') ?? NaN) * 100
  const lines = [
    command,
    `${method.isPublished ? 'a published run' : 'a quick run (--published makes a long one)'}; rounds: ` +
    `${method.rounds}, each of ${method.seconds} s (latency: ${method.latencySeconds} s) after a lead-in of ` +
    `${method.leadIn} s; warm-up of each server ${method.warmUp} s`,
    method.rounds > 1 && differs !== undefined &&
    `the rounds of bare node:http differ by ${differs.toFixed(0)} %${differs > 10 ? ': the machine was not idle' : ''}`,
    `${machine}; ${date.slice(0, 16).replace('T', ' ')} UTC`,
    Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', '),
    mongodb?.description,
    'busiest, all threads: processor time per response of the server\'s busiest thread, and of all its threads; ' +
    '≥: the load generator was the limit'
  ]
  return `${lines.filter(Boolean).join('\n')}\n`
}

/** Describes the MongoDB of a run. */
export const mongoName = ({ mongodb }: Results): string =>
  mongodb?.description ?? 'MongoDB scripted in memory, nothing is durable'

/** A table for each case, its connections and its store, without columns that would be empty or do not fit. */
export function tables (results: Results, width = 100): string {
  const groups = new Map<string, Measurement[]>()
  for (const measurement of results.measurements) {
    const { case: name, connections, server } = measurement.spec
    const at = name === 'commits' ? '' : `, ${connectionsText(connections)}`
    const store = contender(server).store === 'mongodb' ? `; ${mongoName(results)}` : ''
    const title = `${name}: ${cases[name].what}${at}${store}`
    groups.set(title, [...groups.get(title) ?? [], measurement])
  }
  return [...groups].map(([title, measurements]) => {
    const columns = columnsOf(results, measurements).map(([rank, head, cell]) => {
      const cells = [head, ...measurements.map(one => cell(one) ?? '')]
      return { rank, cells, width: Math.max(...cells.map(({ length }) => length)) }
    }).filter(({ cells: [, ...found] }) => found.some(cell => cell !== ''))
    while (columns.reduce((sum, column) => sum + column.width + 2, 0) > width) {
      const highest = Math.max(...columns.map(({ rank }) => rank))
      columns.splice(columns.findLastIndex(({ rank }) => rank === highest), 1)
    }
    const lines = [undefined, ...measurements].map((_, row) => columns.map(({ cells, width }, index) => {
      const cell = cells[row] ?? ''
      return `  ${index === 0 ? cell.padEnd(width) : cell.padStart(width)}`
    }).join('').trimEnd())
    return `${title}\n${lines.join('\n')}\n`
  }).join('\n')
}

/** Of columns that do not fit, those of the highest rank are left out. */
type Column = [rank: number, head: string, cell: (measurement: Measurement) => string | undefined]

function columnsOf (results: Results, [first]: readonly Measurement[]): Column[] {
  const isOpen = first?.spec.rate !== undefined
  const time = (rank: number, head: string, figure: Figure): Column =>
    [rank, head, one => timeText(medianOf(one, figure))]
  const to = (rank: number, base: Base, figure: Figure): Column =>
    [rank, `÷ ${base}`, one => isOpen ? '' : ratioText(base, one, figure, results)]
  return [
    [0, 'server', ({ label }) => label],
    [0, 'rate', ({ spec }) => countText(spec.rate)],
    [0, 'distance', ({ spec }) => spec.distance === undefined ? '' : `${spec.distance} ms`],
    [0, 'connections', ({ spec }) => spec.case === 'commits' ? String(spec.connections) : ''],
    [isOpen ? 4 : 0, 'requests/s', throughputText],
    [isOpen ? 6 : 2, 'range', one => {
      const { low, high } = rangeOf(one, 'perSecond')
      return `${countText(low)}–${countText(high)}`
    }],
    to(6, 'bare', 'perSecond'),
    to(1, 'nearest', 'perSecond'),
    to(3, 'group commit', 'perSecond'),
    to(5, 'plain', 'perSecond'),
    time(isOpen ? 5 : 1, 'busiest', 'busiestThread'),
    to(1, 'bare', 'busiestThread'),
    to(1, 'plain', 'busiestThread'),
    time(isOpen ? 5 : 1, 'all threads', 'allThreads'),
    to(5, 'bare', 'allThreads'),
    to(1, 'plain', 'allThreads'),
    time(isOpen ? 1 : 3, 'p50', 'p50'),
    [isOpen ? 0 : 2, 'p99', p99Text],
    // With fewer than 10,000 samples, fewer than ten are beyond it.
    [1, 'p99.9', one => keepsUp(one) && (one.spec.rate ?? 0) * results.method.latencySeconds >= 10_000
      ? timeText(medianOf(one, 'p999'))
      : ''],
    [1, 'max', one => isOpen ? timeText(medianOf(one, 'max')) : ''],
    [0, 'plants per commit', one => medianOf(one, 'plantsPerCommit')?.toFixed(1)],
    time(2, 'generator late', 'lateness'),
    time(7, 'generator', 'generator')
  ]
}

/** Breaks lines at spaces, so that they fit into a terminal of 100 columns. */
export function wrapped (text: string): string {
  return text.replace(/^.{101,}$/gm, line => line.replace(/(.{1,100})(?: |$)/g, '$1\n').trimEnd())
}

/** An HTML page that needs no other file. */
export function page (results: Results, pictures: Record<string, string>): string {
  const text = `${tables(results, Infinity)}\n${header(results)}`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>plant-store, measured</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
pre { overflow-x: auto }
</style>
<h1>plant-store, measured</h1>
${Object.values(pictures).join('\n')}
<pre>${text.replace(/[&<>]/g, sign => `&#${sign.charCodeAt(0)};`)}</pre>
</html>
`
}
