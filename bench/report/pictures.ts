import { init, type SeriesOption } from 'echarts'
import { connectionsText } from '../plan/cases.js'
import { contender } from '../plan/contenders.js'
import {
  CANNOT_KEEP_UP, countText, groupedBy, keepsUp, medianOf, p99Text, rangeOf, roundsKeptUp, throughputText, type Figure
} from './figures.js'
import type { Measurement, Results } from './results.js'
import { mongoName } from './tables.js'

// Readable on a light and on a dark page alike: a picture inherits no colour from its page.
const ink = '#767d86'
const colours = { ours: '#2f9e63', bare: '#c58a2b', peer: '#8a97a8' }

/** The bars of a figure, with their texts: one for each measurement. */
interface Panel { name: string, figure: Figure, text: (one: Measurement) => string, all: Measurement[] }
type Bars = Omit<Panel, 'all'>

const tenths = (one: Measurement, ...figures: Figure[]): string =>
  figures.flatMap(figure => medianOf(one, figure)?.toFixed(1) ?? []).join(' + ')
const costName = 'µs of processor time per response:\nall threads + the load generator'
const throughput: Bars = { name: 'requests/s', figure: 'perSecond', text: throughputText }
const cost: Bars = { name: costName, figure: 'allThreads', text: one => tenths(one, 'allThreads', 'generator') }
const perCommit: Figure = 'plantsPerCommit'
const shared: Bars = { name: 'plants per commit', figure: perCommit, text: one => tenths(one, perCommit) }

/** SVGs by file name. Measurements with a scripted MongoDB are left out: readers would assume they are durable. */
export function pictures (results: Results): Record<string, string> {
  const inCase = (name: string): Measurement[] => results.measurements.filter(({ spec }) =>
    spec.case === name && (results.mongodb !== undefined || contender(spec.server).store !== 'mongodb'))
  const speed = (one: Measurement): number => medianOf(one, 'perSecond') ?? 0
  const create = inCase('create').sort((a, b) => speed(b) - speed(a))
  const latencies = groupedBy(inCase('latency'), ({ spec }) => `${spec.rate}`).map((all): Panel =>
    ({ name: `at ${countText(all[0]?.spec.rate)} requests/s`, figure: 'p99', text: latencyText, all }))
  const of = (all: Measurement[], ...bars: Bars[]): Panel[] => bars.map(one => ({ ...one, all }))
  const drawn: Array<[name: string, title: string, panels: Panel[]]> = [
    ['throughput', 'Create requests per second, and processor time per response', of(create, throughput, cost)],
    ['latency', 'p99 latency in milliseconds, at equal rates', latencies],
    [
      'commits',
      'How create requests share commits (plant-store, SQLite)',
      of(inCase('commits'), shared, throughput, cost)
    ]
  ]
  return Object.fromEntries(drawn.flatMap(([name, title, panels]) =>
    panels.some(({ all }) => all.length > 0) ? [[`${name}.svg`, picture(title, panels, results)]] : []))
}

/** The p99, and in how many rounds the server did not keep up, if it did not always. */
function latencyText (one: Measurement): string {
  const all = one.rounds.length
  const kept = roundsKeptUp(one).length
  if (kept === 0) return CANNOT_KEEP_UP
  const late = `${all - kept} of ${all} too slow`
  if (!keepsUp(one)) return late
  const p99 = p99Text(one).replace(' ms', '')
  return kept === all ? p99 : `${p99}\n${late}`
}

function picture (title: string, panels: Panel[], results: Results): string {
  const { machine, versions, date, method } = results
  const all = panels.flatMap(panel => panel.all)
  const hasMongo = all.some(({ spec }) => contender(spec.server).store === 'mongodb')
  const run = `${machine.replace('; stores on disk', '')}; Node ${versions.node}; ${date.slice(0, 10)}`
  const how = `median and range of ${method.rounds} rounds${method.isPublished ? '' : ', a quick run'}`
  const isLate = all.some(one => roundsKeptUp(one).length < one.rounds.length)
  const captions = [`${run}; ${how}`]
  if (isLate) captions.push('too slow, or cannot keep up: in such a round, less than 95 % of the rate was answered')
  if (hasMongo) captions.push(mongoName(results))
  const isCommits = all[0]?.spec.case === 'commits'
  const text = isCommits ? title : `${title} (${connectionsText(all[0]?.spec.connections ?? 0)})`
  const label = ({ label, spec }: Measurement): string => isCommits ? connectionsText(spec.connections) : label
  const rows = Math.max(...panels.map(({ all }) => all.length))
  const height = rows * 28 + 140 + captions.length * 16
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 900, height })
  const share = 640 / panels.length
  chart.setOption({
    animation: false,
    textStyle: { fontFamily: 'system-ui, sans-serif', fontSize: 12, color: ink },
    title: [
      { text, left: 12, top: 10, textStyle: { color: ink, fontSize: 16 } },
      { subtext: captions.join('\n'), left: 12, bottom: 2, itemGap: 0, subtextStyle: { color: ink, lineHeight: 16 } }
    ],
    grid: panels.map((_, index) => ({ left: 250 + index * share, width: share - 105, top: 50, height: rows * 28 })),
    xAxis: panels.map(({ name, figure, all }, gridIndex) => ({
      ...axis,
      type: 'value',
      gridIndex,
      splitNumber: 2,
      name,
      // Without a bar there is nothing that ticks could measure.
      ...all.some(keepsUp) ? {} : { min: 0, max: 1, splitLine: { show: false } },
      axisLabel: { color: ink, show: all.some(keepsUp), formatter: (value: number) => tick(value, figure) }
    })),
    yAxis: panels.map(({ all }, gridIndex) => ({
      ...axis,
      type: 'category',
      gridIndex,
      inverse: true,
      data: all.map(label),
      axisTick: { show: false },
      axisLabel: { color: ink, show: gridIndex === 0 }
    })),
    series: panels.flatMap(bars)
  })
  const svg = chart.renderToSVGString()
  chart.dispose() // its timer would keep the process alive
  return svg
}

const axis = {
  nameLocation: 'middle',
  nameGap: 28,
  nameTextStyle: { color: ink, lineHeight: 15 },
  axisLine: { show: true, lineStyle: { color: ink } },
  splitLine: { lineStyle: { color: ink, opacity: 0.3 } }
} as const

function tick (value: number, figure: Figure): string {
  if (figure === 'p99') return `${value / 1000}`
  return value < 1000 ? `${value}` : `${value / 1000}k`
}

/**
 * With whiskers from the lowest to the highest round in which the server kept up. At their ends are points with the
 * texts: the axis fits.
 */
function bars ({ figure, text, all }: Panel, index: number): SeriesOption[] {
  const at = { xAxisIndex: index, yAxisIndex: index }
  const ranges = all.map((one, row) => {
    const range = keepsUp(one) ? rangeOf(roundsKeptUp(one), figure) : undefined
    const { low, high } = range ?? { low: 0, high: 0 }
    return { from: [low, row], to: [high, row], text: text(one) }
  })
  const middles = all.map(one => ({
    value: keepsUp(one) ? medianOf(one, figure) ?? 0 : 0,
    itemStyle: { color: colourOf(one) }
  }))
  const whiskers: SeriesOption = {
    ...at,
    type: 'scatter',
    symbolSize: 0.1,
    color: ink,
    data: ranges.map(({ to, text }) => ({ value: to, label: { formatter: text } })),
    label: { show: true, position: 'right', color: ink, lineHeight: 13 },
    markLine: {
      symbol: 'none',
      label: { show: false },
      lineStyle: { type: 'solid', color: ink, width: 1.5 },
      data: ranges.map(({ from, to }) => [{ coord: from }, { coord: to }])
    }
  }
  return [{ ...at, type: 'bar', barWidth: 18, data: middles }, whiskers]
}

function colourOf ({ spec }: Measurement): string {
  if (contender(spec.server).isOurs) return colours.ours
  return spec.server === 'bare' ? colours.bare : colours.peer
}
