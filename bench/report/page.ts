import { compare } from '../compare.js'
import type { Results } from '../results.js'
import { chart } from './charts.js'
import { groups } from './groups.js'
import { columns, comparisonCells, targetCells } from './table.js'

const style = `
:root { color-scheme: light dark; --ink: #1f2328; --paper: #ffffff; --faint: #d0d7de; --good: #1a7f37; --bad: #cf222e }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --faint: #30363d; --good: #3fb950; --bad: #f85149 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1080px; margin: 2rem auto; padding: 0 1rem }
h2 { margin-top: 2.5rem } .wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; margin: 1rem 0 }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--faint); text-align: right; white-space: nowrap }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left }
.good { color: var(--good) } .bad { color: var(--bad); font-weight: 600 }
`

/** One file, nothing fetched: the drawings are SVG in the page. */
export function page (results: Results, before?: Results): string {
  const { machine, date, options, measurements } = results
  const how = Object.entries(options).map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`).join(', ')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>plant-store: ${escaped(results.name)}</title>
<style>${style}</style>
</head>
<body>
<h1>plant-store, measured</h1>
<p>${escaped(machine.text)}<br>Stores on: ${escaped(machine.disk)}. ${escaped(date.slice(0, 16).replace('T', ' '))} UTC, ${escaped(machine.commit)}.<br>
Interleaved rounds, each server in a fresh process, warm-up thrown away; medians, with the lowest and highest round. ${escaped(how)}.</p>
${results.targets === undefined ? '' : `<h2>Targets</h2>\n${table(targetCells(results.targets))}`}
${before === undefined ? '' : `<h2>Against ${escaped(before.name)}</h2>\n${table(comparisonCells(compare(before, results)))}`}
${groups(measurements).map((group) => {
    const shown = columns(group.kind)
    return `<h2>${escaped(group.title)}</h2>\n${chart(group)}\n${table([
      shown.map(({ head }) => head), ...group.rows.map((row) => shown.map(({ text }) => text(row)))
    ])}`
  }).join('\n')}
</body>
</html>
`
}

function table (rows: string[][]): string {
  const [head = [], ...body] = rows
  const cells = (row: string[], tag: string): string => `<tr>${row.map((cell) => `<${tag}${classOf(cell)}>${escaped(cell)}</${tag}>`).join('')}</tr>`
  return `<div class="wide"><table><thead>${cells(head, 'th')}</thead><tbody>${body.map((row) => cells(row, 'td')).join('\n')}</tbody></table></div>`
}

function classOf (cell: string): string {
  if (cell === 'stretch' || cell === 'pass' || cell === 'better') return ' class="good"'
  return cell === 'short' || cell === 'WORSE' ? ' class="bad"' : ''
}

export function escaped (text: string): string {
  return text.replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign] as string)
}
