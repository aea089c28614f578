import type { Group, Row } from './groups.js'
import { categoryAxis, drawn, ink, legend, palette, valueAxis, valueLabel } from './chart.js'
import { countText, timeText } from './numbers.js'

const width = 860
const thousands = (value: number): string => value >= 1000 ? `${value / 1000}k` : String(value)

export function chart (group: Group): string {
  const rows = group.rows.filter(({ perSecond }) => perSecond !== undefined)
  if (rows.length === 0) return ''
  switch (group.kind) {
    case 'throughput': return throughputChart(rows)
    case 'latency': return latencyChart(rows)
    case 'growth': return curves(rows, (row) => countText(row.spec.plants), 'plants in the store')
    case 'distance': return curves(rows, (row) => `${row.spec.distance} ms`, 'distance of the MongoDB')
  }
}

/** Fastest first; the length is the median, the figure beside it says what part of bare node:http that is. */
export function throughputChart (rows: readonly Row[]): string {
  const sorted = [...rows].sort((a, b) => (a.perSecond?.median ?? 0) - (b.perSecond?.median ?? 0))
  return drawn({
    grid: { left: 290, right: 130, top: 8, bottom: 52 },
    xAxis: valueAxis('creates answered a second', { axisLabel: { color: ink, formatter: thousands } }),
    yAxis: categoryAxis(sorted.map(({ label }) => label)),
    series: [{
      type: 'bar',
      barWidth: '62%',
      data: sorted.map((row) => ({
        value: Math.round(row.perSecond?.median ?? 0),
        itemStyle: { color: colourOf(row), borderRadius: [0, 3, 3, 0] },
        label: {
          ...valueLabel,
          position: 'right',
          formatter: `${countText(row.perSecond?.median)}${row.toBare === undefined ? '' : ` (${row.toBare.median.toFixed(2)})`}`
        }
      }))
    }]
  }, width, 70 + sorted.length * 30)
}

function colourOf ({ spec: { server } }: Row): string {
  return server.startsWith('ours') || server === 'url' ? palette.ours : server === 'bare' ? palette.ceiling : palette.peer
}

/** Both axes by powers of ten: the far percentiles are what it is drawn for. */
function latencyChart (rows: readonly Row[]): string {
  const percentiles = [['50 %', 'p50'], ['90 %', 'p90'], ['99 %', 'p99'], ['99.9 %', 'p999'], ['99.99 %', 'p9999'], ['max', 'max']] as const
  return drawn({
    color: palette.lines,
    legend,
    grid: { left: 80, right: 20, top: 24 + Math.ceil(rows.length / 2) * 22, bottom: 52 },
    xAxis: categoryAxis(percentiles.map(([label]) => label), { name: 'percentile of the latency from the intended start' }),
    yAxis: valueAxis('', { type: 'log', axisLabel: { color: ink, formatter: (micros: number) => timeText(micros) } }),
    series: rows.map((row) => ({
      type: 'line',
      name: `${row.label}, ${countText(row.rate)}/s`,
      symbolSize: 7,
      data: percentiles.map(([, field]) => row.latency?.[field] ?? null)
    }))
  }, width, 360)
}

function curves (rows: readonly Row[], at: (row: Row) => string, name: string): string {
  const places = [...new Set(rows.map(at))]
  const servers = [...new Set(rows.map(({ label }) => label))]
  return drawn({
    color: palette.lines,
    legend,
    grid: { left: 80, right: 20, top: 44, bottom: 52 },
    xAxis: categoryAxis(places, { name }),
    yAxis: valueAxis('', { min: 0, axisLabel: { color: ink, formatter: thousands } }),
    series: servers.map((label) => ({
      type: 'line',
      name: `${label}, creates a second`,
      symbolSize: 7,
      data: places.map((place) => Math.round(rows.find((row) => row.label === label && at(row) === place)?.perSecond?.median ?? NaN))
    }))
  }, width, 340)
}
