import type { Measurement, Results } from '../results.js'
import { allThreads, busiestThread, keepsUp, labelOf, medianOf, mongoName, p99, perSecond, ratioTo } from './figures.js'
import { countText, ratioText, throughputText, timeText } from './tables.js'

/** The command, the machine and the versions of a run. */
export function header ({ date, command, machine, versions, mongodb }: Results): string {
  const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', ')
  return `${command}\n${machine}; ${date.slice(0, 16).replace('T', ' ')} UTC\n${names}${mongodb === undefined ? '' : `\n${mongoName(mongodb)}: ${JSON.stringify(mongodb.buildInfo)}`}\n`
}

/** The main results, one sentence each; those that were not measured are left out. */
export function summary (results: Results): string[] {
  const of = (name: string, server: string): Measurement[] =>
    results.measurements.filter(({ spec, rounds }) => spec.case === name && spec.server === server && rounds.length > 0)
  const [bare, ours, mongo] = ['bare', 'ours-sqlite', 'ours-mongodb'].map(server => of('create', server)[0])
  const lines: string[] = []
  const times = (one: Measurement, base: string, what: string): string => {
    const ratio = ratioTo(base, one, perSecond, results)
    return ratio === undefined ? '' : `, ${ratioText(ratio)} times ${what}`
  }
  const cost = (one: Measurement): string => `${timeText(medianOf(one, busiestThread))} in the busiest thread, ${timeText(medianOf(one, allThreads))} in all`

  if (ours !== undefined) {
    lines.push(`Durable on SQLite: ${throughputText(ours)} create requests per second${times(ours, 'fastify', 'Fastify with one insert each')}${times(ours, 'fastify-batching', 'Fastify with group commit')}${times(ours, 'bare', 'bare node:http')}.`)
    if (medianOf(ours, allThreads) !== undefined) lines.push(`Processor time of one: ${cost(ours)}${bare === undefined ? '' : `; bare node:http, which checks and stores nothing: ${cost(bare)}`}.`)
  }
  const highest = of('latency', 'ours-sqlite').filter(keepsUp).at(-1)
  if (highest !== undefined) {
    const all = results.measurements.filter(({ spec }) => spec.case === 'latency' && spec.rate === highest.spec.rate)
    lines.push(`Latency at ${countText(highest.spec.rate)} create requests per second, p99: ${all.map(one => `${labelOf(one)} ${keepsUp(one) ? timeText(medianOf(one, p99)) : 'cannot keep up'}`).join('; ')}.`)
  }
  const shared = of('commits', 'ours-sqlite').map(one => `${medianOf(one, round => round.plantsPerCommit)?.toFixed(1)} at ${one.spec.connections}`)
  if (shared.length > 0) lines.push(`Plants that share a commit, by connections: ${shared.join(', ')}.`)
  if (mongo !== undefined) {
    lines.push(results.mongodb === undefined
      ? 'MongoDB was scripted in memory, with nothing durable: those figures are the service\'s own share. --mongodb URL measures a real one.'
      : `${mongoName(results.mongodb)}: ${throughputText(mongo)} create requests per second${times(mongo, 'fastify', 'Fastify with one insert each')}.`)
  }
  return lines
}
