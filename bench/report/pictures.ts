import { connectionsText } from '../plan/cases.js'
import { contender, durabilityOf, type Durability } from '../plan/contenders.js'
import { drawBars, type Bar, type Panel, type Row } from './bars.js'
import {
  CANNOT_KEEP_UP, countText, groupedBy, keepsUp, medianOf, p99Text, rangeOf, roundsKeptUp, throughputText, timeText,
  TOO_SLOW, type Figure
} from './figures.js'
import type { Measurement, Results } from './results.js'
import { mongoName } from './tables.js'

/** How a figure is drawn. */
interface Drawing { name: string, figure: Figure, text: (one: Measurement) => string, tick: (value: number) => string }

const tenths = (one: Measurement, ...figures: Figure[]): string =>
  figures.flatMap(figure => medianOf(one, figure)?.toFixed(1) ?? []).join(' + ')
const thousands = (value: number): string => value < 1000 ? `${value}` : `${value / 1000}k`
const milliseconds = (value: number): string => `${value / 1000}`

const throughput: Drawing = { name: 'requests/s', figure: 'perSecond', text: throughputText, tick: thousands }
const cost: Drawing = {
  name: 'µs of processor time per response:\nall threads + the load generator',
  figure: 'allThreads',
  text: one => tenths(one, 'allThreads', 'generator'),
  tick: thousands
}
const shared: Drawing = {
  name: 'plants per commit', figure: 'plantsPerCommit', text: one => tenths(one, 'plantsPerCommit'), tick: thousands
}
const latency = { figure: 'p99', text: latencyText, tick: milliseconds } as const
const stored = { figure: 'p50', text: storedText, tick: milliseconds } as const

const sections: Record<Durability, string> = {
  synced: 'On disk when answered',
  'not synced': 'Not on disk when answered',
  'no store': 'Without a store'
}

/** The files of all pictures that there can be. */
export const pictureFiles = ['throughput.svg', 'latency.svg', 'commits.svg', 'stored.svg']

/**
 * SVGs by file name. Without what stands in for MongoDB, scripted or another program: readers would assume that it is
 * MongoDB, and that its plants are durable.
 */
export function pictures (results: Results): Record<string, string> {
  const isMongo = results.mongodb?.program === 'MongoDB'
  const inCase = (name: string): Measurement[] => results.measurements.filter(({ spec }) =>
    spec.case === name && (isMongo || contender(spec.server).store !== 'mongodb'))
  const drawn: Record<string, string> = {}

  function draw (file: string, title: string, rows: Row[], panels: Panel[], captions: string[] = []): void {
    const filled = panels.filter(({ bars }) => bars.some(bar => bar !== undefined))
    if (filled.length === 0) return
    drawn[file] = drawBars({ title, rows, panels: filled, captions: [captionOf(results), ...captions] })
  }

  const creates = inCase('create')
  const rows = inSections(creates)
  const hasCosts = creates.some(one => medianOf(one, 'allThreads') !== undefined)
  const costs = hasCosts ? ', and processor time per response' : ''
  const title = `Create requests per second${costs} (${connectionsText(creates[0]?.spec.connections ?? 0)})`
  const databases = isMongo ? [mongoName(results)] : []
  draw('throughput.svg', title, rows.map(rowOf), [throughput, cost].map(drawing => panelOf(drawing, rows)), databases)

  const rates = groupedBy(inCase('latency'), ({ spec }) => `${spec.rate}`)
  draw(
    'latency.svg',
    `p99 latency in milliseconds, at equal rates (${connectionsText(rates[0]?.[0]?.spec.connections ?? 0)})`,
    (rates[0] ?? []).map(rowOf),
    rates.map(all => panelOf({ ...latency, name: `at ${countText(all[0]?.spec.rate)} requests/s` }, all)),
    rates.flat().every(one => roundsKeptUp(one).length === one.rounds.length)
      ? []
      : ['too slow, or cannot keep up: in such a round, less than 95 % of the rate was answered']
  )

  const commits = inCase('commits')
  draw(
    'commits.svg',
    'How create requests share commits (plant-store, SQLite)',
    commits.map(({ spec }) => ({ label: connectionsText(spec.connections) })),
    [shared, throughput, cost].map(drawing => panelOf(drawing, commits))
  )

  const sizes = groupedBy(inCase('stored'), ({ spec }) => `${spec.stored}`)
  draw(
    'stored.svg',
    'Time of a create, one at a time, by the number of plants stored before',
    inSections(sizes[0] ?? []).map(rowOf),
    sizes.map(all => {
      const name = `ms, with ${countText(all[0]?.spec.stored)} stored`
      return panelOf({ ...stored, name }, inSections(all))
    }),
    sizes.flat().every(keepsUp) ? [] : ['too slow: a create had no response within 10 s']
  )
  return drawn
}

type Entry = Measurement | Row

const isRow = (entry: Entry): entry is Row => 'isHeading' in entry
const rowOf = (entry: Entry): Row => isRow(entry) ? entry : { label: entry.label }

/** The fastest first, with headings if they differ in how durable their plants are. */
function inSections (all: readonly Measurement[]): Entry[] {
  const speed = (one: Measurement): number => medianOf(one, 'perSecond') ?? 0
  const sorted = all.toSorted((a, b) => speed(b) - speed(a))
  const groups = Object.entries(sections).map(([durability, label]) => {
    const members = sorted.filter(({ spec }) => durabilityOf(contender(spec.server)) === durability)
    return { heading: { label, isHeading: true }, members }
  }).filter(({ members }) => members.length > 0)
  if (groups.length === 1) return sorted
  return groups.flatMap(({ heading, members }): Entry[] => [heading, ...members])
}

function panelOf ({ name, figure, text, tick }: Drawing, entries: readonly Entry[]): Panel {
  const bars = entries.map((entry): Bar | undefined => {
    if (isRow(entry)) return undefined
    const colour = contender(entry.spec.server).isOurs ? 'ours' : 'peer'
    const range = rangeOf(roundsKeptUp(entry), figure)
    if (!keepsUp(entry)) return { value: 0, low: 0, high: 0, text: text(entry), colour }
    if (range === undefined) return undefined
    return { value: medianOf(entry, figure) ?? 0, ...range, text: text(entry), colour }
  })
  return { name, tick, bars }
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

function storedText (one: Measurement): string {
  return keepsUp(one) ? timeText(medianOf(one, 'p50')) : TOO_SLOW
}

function captionOf ({ machine, versions, date, method, url }: Results): string {
  const how = `median and range of ${method.rounds} rounds${method.isPublished ? '' : ', a quick run'}`
  if (url !== undefined) return `${url}; ${date.slice(0, 10)}; ${how}`
  return `${machine.replace('; stores on disk', '')}; Node ${versions.node}; ${date.slice(0, 10)}; ${how}`
}
