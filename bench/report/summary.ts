import { connectionsText, type Measurement, type Results } from '../results.js'
import { allThreads, busiestThread, generator, labelOf, medianOf, mongoName, perSecond, ratioTo } from './figures.js'
import { countText, latencyText, ratioText, throughputText, timeText } from './tables.js'

/** The command, the machine and the versions of a run. */
export function header ({ date, command, method, machine, versions, mongodb, notCounted = [] }: Results): string {
  const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', ')
  const how = `${kindOf(method)}; rounds: ${method.rounds}, each of ${method.seconds} s (latency: ${method.latencyRounds} of ${method.latencySeconds} s) after a lead-in of ${method.leadIn} s; warm-up of each server ${method.warmUp} s; in open loops the generator ${method.isGeneratorApart ? 'has the last processor to itself' : 'shares the processors with the server'}`
  const mongo = mongodb && `${mongoName(mongodb)}: ${JSON.stringify(mongodb.buildInfo)}`
  const uncounted = notCounted.length > 0 && `stored plants not counted: ${notCounted.join('; ')}`
  return [command, how, `${machine}; ${date.slice(0, 16).replace('T', ' ')} UTC`, names, mongo, uncounted].filter(Boolean).join('\n') + '\n'
}

function kindOf ({ isPublished, isSteady, disturbedRounds, rounds }: Results['method']): string {
  if (!isPublished) return 'a quick run (--published makes a long one)'
  const extra = disturbedRounds === 0 ? '' : `, after ${disturbedRounds} that did not`
  return `a published run; the ${rounds} rounds of bare ${isSteady ? `agree within 10 %${extra}` : 'do NOT agree within 10 %: the machine was not idle'}`
}

/** The main results, one sentence each, without those that were not measured. */
export function summary (results: Results): string[] {
  const of = (name: string, server: string): Measurement[] =>
    results.measurements.filter(({ spec, rounds }) => spec.case === name && spec.server === server && rounds.length > 0)
  const lines: string[] = []
  const times = (one: Measurement, base: string, what: string): string => {
    const ratio = ratioTo(base, one, perSecond, results)
    return ratio === undefined ? '' : `, ${ratioText(ratio)} times ${what}`
  }
  const cost = (one: Measurement): string =>
    `${timeText(medianOf(one, allThreads))}, ${timeText(medianOf(one, busiestThread))} of it in the busiest thread`

  for (const one of [...of('create', 'ours-sqlite'), ...of('single', 'ours-sqlite')]) {
    lines.push(`${results.machine.includes('tmpfs') ? 'Not durable, in memory:' : 'Durable on'} SQLite, ${connectionsText(one.spec.connections)}: ${throughputText(one)} requests/s${times(one, 'fastify', 'Fastify with one synchronous insert per request')}${times(one, 'fastify-batching', 'Fastify with group commit')}${times(one, 'bare', 'bare node:http')}.`)
  }
  for (const one of of('create', 'ours-sqlite')) {
    if (medianOf(one, allThreads) === undefined) continue
    const bare = of('create', 'bare').find(({ spec }) => spec.connections === one.spec.connections)
    lines.push(`Processor time per response, ${connectionsText(one.spec.connections)}: ${cost(one)}${bare === undefined ? '' : `; bare node:http, which checks and stores nothing: ${cost(bare)}`}; the generator's own: ${timeText(medianOf(one, generator))}.`)
  }
  const latencies = results.measurements.filter(({ spec }) => spec.case === 'latency')
  for (const connections of new Set(latencies.map(({ spec }) => spec.connections))) {
    lines.push(p99Line(latencies.filter(({ spec }) => spec.connections === connections), results))
  }
  const shared = of('commits', 'ours-sqlite').map(one => `${medianOf(one, round => round.plantsPerCommit)?.toFixed(1)} at ${one.spec.connections}`)
  if (shared.length > 0) lines.push(`Plants that share a commit, by connections: ${shared.join(', ')}.`)
  const mongo = of('create', 'ours-mongodb').map(one => results.mongodb === undefined
    ? 'MongoDB was scripted in memory, with nothing durable: those figures are the service\'s own share. --mongodb URL measures a real one.'
    : `${mongoName(results.mongodb)}, ${connectionsText(one.spec.connections)}: ${throughputText(one)} requests/s${times(one, 'fastify', 'Fastify with one insert per request')}.`)
  return [...lines, ...new Set(mongo)]
}

function p99Line (all: readonly Measurement[], results: Results): string {
  const rates = [...new Set(all.map(({ spec }) => spec.rate))]
  const servers = [...new Set(all.map(one => labelOf(one, results)))].map(label => {
    const ofOne = rates.map(rate => all.find(one => labelOf(one, results) === label && one.spec.rate === rate))
    return `${label}: ${ofOne.map(one => one && latencyText(one)).join(' / ')}`
  })
  return `p99 latency at ${rates.map(countText).join(' / ')} requests/s, ${connectionsText(all[0]?.spec.connections ?? 0)}: ${servers.join('; ')}.`
}
