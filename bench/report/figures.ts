import { caseOf } from '../cases.js'
import { contender } from '../contenders.js'
import { connectionsText, type Measurement, type Results, type Round } from '../results.js'
import { ratio, spread, type Spread } from '../statistics.js'

/** Selects a figure of a round. */
export type Figure = (round: Round) => number | undefined
export const perSecond: Figure = round => round.perSecond
export const busiestThread: Figure = round => round.busiestThread
export const allThreads: Figure = round => round.allThreads
export const p99: Figure = round => round.latency?.p99
export const lateness: Figure = round => round.lateness
export const generator: Figure = round => round.generator

/** Measurements by the title under which they are shown together. */
export function groups ({ measurements, mongodb }: Results): Map<string, Measurement[]> {
  const found = new Map<string, Measurement[]>()
  for (const measurement of measurements) {
    const { case: name, connections, server } = measurement.spec
    const at = ['commits', 'single', 'start'].includes(name) ? '' : `, ${connectionsText(connections)}`
    const title = `${name}: ${caseOf(name).what}${at}${contender(server).store === 'mongodb' ? `; ${mongoName(mongodb)}` : ''}`
    found.set(title, [...found.get(title) ?? [], measurement])
  }
  return found
}

/** Describes the MongoDB that was measured. */
export function mongoName (mongodb: Results['mongodb']): string {
  if (mongodb === undefined) return 'MongoDB scripted in memory, nothing is durable'
  const program = programOf(mongodb)
  const at = /^(127\.|localhost|\[?::1)/.test(mongodb.address) ? ', on the same machine' : ` at ${mongodb.address}`
  if (program === 'MongoDB') return `MongoDB ${String(mongodb.buildInfo.version)}${at}`
  return `${program}, a server compatible with MongoDB,${at.replace(',', '')}; durability not checked`
}

export const labelOf = ({ spec }: Measurement, { mongodb }: Results): string =>
  contender(spec.server).label.replace('MongoDB', programOf(mongodb))

function programOf (mongodb: Results['mongodb']): string {
  if (mongodb === undefined) return 'scripted MongoDB'
  const { process: program, ferretdb, ferretdbVersion } = mongodb.buildInfo
  if (ferretdb !== undefined || ferretdbVersion !== undefined) return 'FerretDB'
  return program === undefined || program === 'mongod' || program === 'mongos' ? 'MongoDB' : String(program)
}

const valuesOf = ({ rounds }: Measurement, pick: Figure): number[] => rounds.flatMap(round => pick(round) ?? [])

export function figure (measurement: Measurement, pick: Figure): Spread | undefined {
  const values = valuesOf(measurement, pick)
  return values.length === 0 ? undefined : spread(values)
}

export const medianOf = (one: Measurement, pick: Figure): number | undefined => figure(one, pick)?.median

/** A server keeps up with a rate if it did so in more than half of the rounds. */
export function keepsUp ({ rounds }: Measurement): boolean {
  return rounds.filter(({ keptUp }) => keptUp === false).length * 2 < rounds.length
}

/** The generator was saturated, so the throughput is a lower bound. */
export function isAtLeast (measurement: Measurement): boolean {
  return (medianOf(measurement, round => round.generatorBusy) ?? 0) > 0.9
}

/** The ratio to a base (see `Case.bases`); undefined for throughputs if one of them is a lower bound. */
export function ratioTo (base: string, one: Measurement, pick: Figure, { measurements }: Results): Spread | undefined {
  const { spec } = one
  const server = base === 'first' ? spec.server : base === 'fastify' ? `fastify-${contender(spec.server).store}` : base
  const alike = measurements.filter(other => other.spec.case === spec.case && other.spec.server === server)
  const other = alike.find(({ spec: { connections } }) => connections === spec.connections)
  if (other === undefined || other === one || (pick === perSecond && [other, one].some(isAtLeast))) return undefined
  const [values, others] = [valuesOf(one, pick), valuesOf(other, pick)]
  return values.length * others.length === 0 ? undefined : ratio(values, others)
}
