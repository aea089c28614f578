import { contender } from '../contenders.js'
import { connectionsText, type Measurement, type Results } from '../results.js'
import { allThreads, busiestThread, medianOf, mongoName, perSecond, ratioTo } from './figures.js'
import { countText, latencyText, ratioText, throughputText, timeText } from './tables.js'

/** The command, the machine and the versions of a run. */
export function header ({ date, command, method, machine, versions, mongodb, notCounted = [] }: Results): string {
  const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', ')
  const how = method && `rounds: ${method.rounds}, each of ${method.duration} s after a lead-in of ${method.leadIn} s; warm-up of each server ${method.warmUp} s; in open loops the generator ${method.isGeneratorApart ? 'has the last processor to itself' : 'shares the processors with the server'}`
  const mongo = mongodb && `${mongoName(mongodb)}: ${JSON.stringify(mongodb.buildInfo)}`
  const uncounted = notCounted.length > 0 && `stored plants not counted: ${notCounted.join('; ')}`
  return [command, how, `${machine}; ${date.slice(0, 16).replace('T', ' ')} UTC`, names, mongo, uncounted].filter(Boolean).join('\n') + '\n'
}

/** The main results, one sentence each, without those that were not measured. */
export function summary (results: Results): string[] {
  const of = (name: string, server: string): Measurement[] =>
    results.measurements.filter(({ spec, rounds }) => spec.case === name && spec.server === server && rounds.length > 0)
  const [bare, ours, mongo] = ['bare', 'ours-sqlite', 'ours-mongodb'].map(server => of('create', server)[0])
  const lines: string[] = []
  const times = (one: Measurement, base: string, what: string): string => {
    const ratio = ratioTo(base, one, perSecond, results)
    return ratio === undefined ? '' : `, ${ratioText(ratio)} times ${what}`
  }
  const cost = (one: Measurement): string => {
    const busiest = medianOf(one, busiestThread)
    return `${timeText(medianOf(one, allThreads))}${busiest === undefined ? '' : `, ${timeText(busiest)} of it in the busiest thread`}`
  }

  for (const one of [...of('create', 'ours-sqlite'), ...of('single', 'ours-sqlite')]) {
    lines.push(`Durable on SQLite, ${connectionsText(one.spec.connections)}: ${throughputText(one)} requests/s${times(one, 'fastify', 'Fastify with one synchronous insert per request')}${times(one, 'fastify-batching', 'Fastify with group commit')}${times(one, 'bare', 'bare node:http')}.`)
  }
  if (ours !== undefined && medianOf(ours, allThreads) !== undefined) {
    lines.push(`Processor time per response: ${cost(ours)}${bare === undefined ? '' : `; bare node:http, which checks and stores nothing: ${cost(bare)}`}.`)
  }
  const atRates = results.measurements.filter(({ spec }) => spec.case === 'latency')
  const rates = [...new Set(atRates.map(({ spec }) => spec.rate))]
  const p99s = [...new Set(atRates.map(({ spec }) => spec.server))].map(server => {
    const all = rates.map(rate => atRates.find(({ spec }) => spec.server === server && spec.rate === rate))
    return `${contender(server).label}: ${all.map(one => one && latencyText(one)).join(' / ')}`
  })
  if (p99s.length > 0) lines.push(`p99 latency at ${rates.map(countText).join(' / ')} requests/s: ${p99s.join('; ')}.`)
  const shared = of('commits', 'ours-sqlite').map(one => `${medianOf(one, round => round.plantsPerCommit)?.toFixed(1)} at ${one.spec.connections}`)
  if (shared.length > 0) lines.push(`Plants that share a commit, by connections: ${shared.join(', ')}.`)
  if (mongo !== undefined) {
    lines.push(results.mongodb === undefined
      ? 'MongoDB was scripted in memory, with nothing durable: those figures are the service\'s own share. --mongodb URL measures a real one.'
      : `${mongoName(results.mongodb)}: ${throughputText(mongo)} requests/s${times(mongo, 'fastify', 'Fastify with one insert per request')}.`)
  }
  return lines
}
