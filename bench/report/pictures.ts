import { contender } from '../contenders.js'
import { connectionsText, type Measurement, type Results } from '../results.js'
import type { Spread } from '../statistics.js'
import { bars, colours, faint, line, picture, text, type Bar } from './drawing.js'
import { allThreads, busiestThread, figure, generator, keepsUp, labelOf, lateness, medianOf, mongoName, p99, perSecond, type Figure } from './figures.js'
import { countText, latencyText, throughputText } from './tables.js'

/** SVGs by file name. Measurements with a scripted MongoDB are left out: readers would assume they are durable. */
export function pictures (results: Results): Record<string, string> {
  const shown = results.measurements.filter(({ spec, rounds }) => rounds.length > 0 && (results.mongodb !== undefined || contender(spec.server).store !== 'mongodb'))
  const caption = `${results.machine.replace('; stores on disk', '')}; Node ${results.versions.node}; ${results.date.slice(0, 10)}; median and range${results.method.isPublished ? '' : '; a quick run'}${results.method.isSteady === false ? '; the machine was not idle' : ''}`
  const drawn = { create: throughputPicture, latency: latencyPicture, commits: commitsPicture }
  return Object.fromEntries(Object.entries(drawn).flatMap(([name, draw]) => {
    const all = shown.filter(({ spec }) => spec.case === name && (name !== 'commits' || spec.server === 'ours-sqlite'))
    const mongo = all.some(({ spec }) => contender(spec.server).store === 'mongodb') ? `\n${mongoName(results.mongodb)}` : ''
    const rounds = `; rounds: ${Math.max(...all.map(one => one.rounds.length))}`
    const file = name === 'create' ? 'throughput' : name
    const counts = name === 'commits' ? [] : [...new Set(all.map(({ spec }) => spec.connections))]
    if (counts.length > 1) return counts.map(count => [`${file}-${count}.svg`, draw(all.filter(({ spec }) => spec.connections === count), `${caption}${rounds}${mongo}`, results)])
    return all.length === 0 ? [] : [[`${file}.svg`, draw(all, `${caption}${rounds}${mongo}`, results)]]
  }))
}

function bar (one: Measurement, pick: Figure, colour: string, label?: string): Bar {
  const median = medianOf(one, pick) ?? 0
  const part = pick === allThreads ? medianOf(one, busiestThread) ?? 0 : undefined
  const usual = median < 1000 ? median.toFixed(1) : countText(median)
  return { all: figure(one, pick), label: label ?? usual, colour, part }
}

const cost = 'µs of processor time per response\n(solid: busiest thread; pale: the others;\n+ the load generator\'s own)'

function costText (one: Measurement): string {
  return [allThreads, generator].flatMap(pick => medianOf(one, pick)?.toFixed(1) ?? []).join(' + ')
}

function throughputPicture (all: Measurement[], caption: string, results: Results): string {
  const sorted = all.toSorted((a, b) => (medianOf(b, perSecond) ?? 0) - (medianOf(a, perSecond) ?? 0))
  const colour = ({ spec }: Measurement): string => contender(spec.server).isOurs ? colours.ours : spec.server === 'bare' ? colours.bare : colours.peer
  return picture(`Create requests per second, and processor time per response (${connectionsText(all[0]?.spec.connections ?? 0)})`, caption, 174 + sorted.length * 28, [
    ...sorted.map((one, row) => text(322, 72 + row * 28, labelOf(one, results), 'end')),
    ...bars('requests/s', 330, 54, 190, sorted.map(one => bar(one, perSecond, colour(one), throughputText(one)))),
    ...bars(cost, 630, 54, 160, sorted.map(one => bar(one, allThreads, colour(one), costText(one))))
  ])
}

function commitsPicture (all: Measurement[], caption: string): string {
  const panel = (pick: Figure): Bar[] => all.map(one => bar(one, pick, colours.ours))
  return picture('How create requests share commits (plant-store, SQLite)', caption, 174 + all.length * 28, [
    ...all.map((one, row) => text(125, 72 + row * 28, connectionsText(one.spec.connections), 'end')),
    ...bars('plants per commit', 135, 54, 170, panel(round => round.plantsPerCommit)),
    ...bars('requests/s', 375, 54, 170, panel(perSecond)),
    ...bars(cost, 630, 54, 160, all.map(one => bar(one, allThreads, colours.ours, costText(one))))
  ])
}

function latencyPicture (all: Measurement[], caption: string, results: Results): string {
  const rates = [...new Set(all.map(({ spec }) => spec.rate ?? 0))]
  const servers = [...new Set(all.map(({ spec }) => spec.server))]
  const spreadOf = (one?: Measurement): Spread | undefined => one && keepsUp(one) ? figure(one, p99) : undefined
  const found = all.flatMap(one => spreadOf(one) ?? [])
  const late = all.flatMap(one => medianOf(one, lateness) ?? [])
  const least = Math.floor(Math.log10(Math.max(Math.min(...found.map(({ low }) => low), ...late, 1e5), 10)))
  const most = Math.ceil(Math.log10(Math.max(...found.map(({ high }) => high), 1)))
  const [left, right, top, bottom] = [70, 860, 60, 300]
  const [wide, high] = [(right - left) / rates.length, (bottom - top) / Math.max(1, most - least)]
  const y = (micros: number): number => bottom - (Math.log10(micros) - least) * high
  const x = (place: number, row: number): number => left + (place + 0.5) * wide + (row - servers.length / 2) * 12
  const labelIn = (server: string): string => labelOf({ spec: { case: 'latency', server, connections: 0 }, rounds: [] }, results)
  const decades = Array.from({ length: most - least + 1 }, (_, place) => 10 ** (least + place))
  return picture(`p99 latency at equal rates (${connectionsText(all[0]?.spec.connections ?? 0)}; log scale; lower is better)`, caption, 420 + servers.length * 20, [
    ...decades.flatMap(micros => [line(left, y(micros), right, y(micros), faint), text(left - 8, y(micros) + 4, `${micros / 1000} ms`, 'end')]),
    ...rates.map((rate, place) => text(x(place, (servers.length - 1) / 2), bottom + 20, countText(rate), 'middle')),
    text((left + right) / 2, bottom + 40, 'requests/s', 'middle'),
    text(left, bottom + 68 + servers.length * 20, 'dash: how late the load generator started its requests (p99), which is part of the latency'),
    ...servers.flatMap((server, row) => {
      const colour = colours.lines[row % colours.lines.length] ?? colours.peer
      const stroke = `stroke="${colour}" stroke-width="2"`
      const points = rates.map((rate, place) => {
        const one = all.find(({ spec }) => spec.server === server && spec.rate === rate)
        const late = Math.max((one && medianOf(one, lateness)) ?? 0, 10 ** least)
        return { one, spread: spreadOf(one), late, at: x(place, row) }
      })
      const lost = points.flatMap(({ one }, place) => one === undefined || keepsUp(one) ? [] : `; ${latencyText(one)} at ${countText(rates[place])}`)
      const key = bottom + 68 + row * 20
      const letter = String.fromCharCode(65 + row)
      return [
        line(left, key, left + 50, key, stroke),
        text(left + 60, key + 4, `${letter}: ${labelIn(server)}${lost.join('')}`),
        ...points.flatMap(({ spread, late, at }, place) => {
          const next = points[place + 1]
          if (spread === undefined) return []
          return [
            line(at, y(spread.low), at, y(spread.high), stroke),
            text(at, y(spread.high) - 5, letter, 'middle'),
            line(at - 5, y(late), at + 5, y(late), stroke),
            `<circle cx="${at.toFixed(1)}" cy="${y(spread.median).toFixed(1)}" r="4.5" fill="${colour}"/>`,
            ...(next?.spread === undefined ? [] : [line(at, y(spread.median), next.at, y(next.spread.median), stroke)])
          ]
        })
      ]
    })
  ])
}
