import { contender } from '../contenders.js'
import { caseOf } from '../plan.js'
import { connectionsText, type Measurement, type Results } from '../results.js'
import {
  allThreads, busiestThread, countText, figure, generator, medianOf, p99Text, perCommit, perSecond, ratioText,
  throughputText, timeText, type Base, type Figure
} from './figures.js'

/** The command, the machine and the versions of a run. */
export function header ({ date, command, method, machine, versions, mongodb, measurements }: Results): string {
  const bare = measurements.find(({ spec }) => spec.server === 'bare')
  const { low = 0, high = 0, median = 1 } = (bare && figure(bare, perSecond)) ?? {}
  const lines = [
    command,
    `${method.isPublished ? 'a published run' : 'a quick run (--published makes a long one)'}; rounds: ` +
    `${method.rounds}, each of ${method.seconds} s (latency: ${method.latencySeconds} s) after a lead-in of ` +
    `${method.leadIn} s; warm-up of each server ${method.warmUp} s`,
    bare && method.rounds > 1 && `the rounds of bare node:http differ by ${((high - low) / median * 100).toFixed(0)} %`,
    `${machine}; ${date.slice(0, 16).replace('T', ' ')} UTC`,
    Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', '),
    mongodb?.description,
    'busiest, all threads: processor time per response of the server\'s busiest thread, and of all its threads; ' +
    '≥: the load generator was the limit'
  ]
  return `${lines.filter(Boolean).join('\n')}\n`
}

/** Describes the MongoDB of a run. */
export function mongoName ({ mongodb }: Results): string {
  return mongodb?.description ?? 'MongoDB scripted in memory, nothing is durable'
}

interface Column {
  head: string
  cell: (measurement: Measurement) => string | undefined
  /** Of columns that do not fit, those of the highest rank are left out. */
  rank: number
}

/** A table for each case, its connections and its store, without columns that would be empty or do not fit. */
export function tables (results: Results, width = 100): string {
  const groups = new Map<string, Measurement[]>()
  for (const measurement of results.measurements) {
    const { case: name, connections, server } = measurement.spec
    const at = ['commits', 'single'].includes(name) ? '' : `, ${connectionsText(connections)}`
    const store = contender(server).store === 'mongodb' ? `; ${mongoName(results)}` : ''
    const title = `${name}: ${caseOf(name).what}${at}${store}`
    groups.set(title, [...groups.get(title) ?? [], measurement])
  }
  return [...groups].map(([title, measurements]) => {
    const columns = columnsOf(results, measurements)
      .map(column => ({ ...column, cells: [column.head, ...measurements.map(one => column.cell(one) ?? '')] }))
      .filter(({ cells }) => cells.some((cell, row) => row > 0 && cell !== ''))
      .map(column => ({ ...column, width: Math.max(...column.cells.map(cell => cell.length)) }))
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

function columnsOf (results: Results, [first]: readonly Measurement[]): Column[] {
  const isOpen = first?.spec.rate !== undefined
  const column = (rank: number, head: string, cell: Column['cell']): Column => ({ head, cell, rank })
  const time = (rank: number, head: string, pick: Figure): Column =>
    column(rank, head, one => timeText(medianOf(one, pick)))
  const to = (rank: number, base: Base, pick: Figure): Column =>
    column(rank, `÷ ${base}`, one => isOpen ? '' : ratioText(base, one, pick, results))
  return [
    column(0, 'server', ({ label }) => label),
    column(0, 'rate', ({ spec }) => countText(spec.rate)),
    column(0, 'distance', ({ spec }) => spec.distance === undefined ? '' : `${spec.distance} ms`),
    column(0, 'connections', ({ spec }) => spec.case === 'commits' ? String(spec.connections) : ''),
    column(isOpen ? 4 : 0, 'requests/s', throughputText),
    column(isOpen ? 6 : 2, 'range', one => {
      const { low, high } = figure(one, perSecond) ?? {}
      return `${countText(low)}–${countText(high)}`
    }),
    to(6, 'bare', perSecond),
    to(1, 'nearest', perSecond),
    to(3, 'group commit', perSecond),
    to(5, 'plain', perSecond),
    time(isOpen ? 5 : 1, 'busiest', busiestThread),
    to(1, 'bare', busiestThread),
    to(1, 'plain', busiestThread),
    time(isOpen ? 5 : 1, 'all threads', allThreads),
    to(5, 'bare', allThreads),
    to(1, 'plain', allThreads),
    time(isOpen ? 1 : 3, 'p50', round => round.latency?.p50),
    column(isOpen ? 0 : 2, 'p99', p99Text),
    // With fewer than 10,000 samples, fewer than ten are beyond it.
    column(1, 'p99.9', one => (one.spec.rate ?? 0) * results.method.latencySeconds < 10_000
      ? ''
      : timeText(medianOf(one, round => round.latency?.p999))),
    time(1, 'max', round => isOpen ? round.latency?.max : undefined),
    column(1, 'plants per commit', one => medianOf(one, perCommit)?.toFixed(1)),
    time(2, 'generator late', round => round.lateness),
    time(7, 'generator', generator)
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
