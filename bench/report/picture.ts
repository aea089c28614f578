import type { Results } from '../results.js'
import { font } from './chart.js'
import { throughputChart } from './charts.js'
import { groups } from './groups.js'
import { escaped } from './page.js'

/** The throughput of the first case as a picture of its own, that says where and when it was measured. */
export function picture (results: Results): string {
  const group = groups(results.measurements).find(({ kind, rows }) => kind === 'throughput' && rows.some(({ perSecond }) => perSecond !== undefined))
  if (group === undefined) throw new Error('no throughput was measured, so there is nothing to draw')
  const inner = throughputChart(group.rows.filter(({ perSecond }) => perSecond !== undefined))
  const height = Number(/viewBox="0 0 \d+ (\d+)"/.exec(inner)?.[1])
  const { machine, date } = results
  // A card of its own: where the README is shown decides the paper, and an image cannot see it.
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 ${height + 96}" width="900" height="${height + 96}" font-family="${font}">
<style>:root { color: #1f2328 } rect.card { fill: #ffffff; stroke: #d0d7de }
@media (prefers-color-scheme: dark) { :root { color: #e6edf3 } rect.card { fill: #0d1117; stroke: #30363d } }</style>
<rect class="card" x=".5" y=".5" width="899" height="${height + 95}" rx="8"/>
<text x="20" y="32" font-size="16" font-weight="600" fill="currentColor">${escaped(`plant-store: ${group.title} (in brackets: part of bare node:http)`)}</text>
<svg x="20" y="44" width="860" height="${height}">${inner}</svg>
<text x="20" y="${height + 78}" font-size="12" fill="currentColor" opacity=".75">${escaped(`${machine.text}; ${date.slice(0, 10)}`)}</text>
</svg>
`
}
