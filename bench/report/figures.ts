import { caseOf } from '../cases.js'
import { contender } from '../contenders.js'
import type { Measurement, Results, Round } from '../results.js'
import { ratio, spread, type Spread } from '../statistics.js'

/** A figure of a round. */
export type Figure = (round: Round) => number | undefined
export const perSecond: Figure = round => round.perSecond
export const busiestThread: Figure = round => round.busiestThread
export const allThreads: Figure = round => round.allThreads
export const p99: Figure = round => round.latency?.p99

/** Measurements by the title under which they are shown together. */
export function groups ({ measurements, mongodb }: Results): Map<string, Measurement[]> {
  const found = new Map<string, Measurement[]>()
  for (const measurement of measurements) {
    const { case: name, connections, server } = measurement.spec
    const at = ['commits', 'start'].includes(name) ? '' : `, ${connections} connections`
    const title = `${name}: ${caseOf(name).what}${at}${contender(server).store === 'mongodb' ? `; ${mongoName(mongodb)}` : ''}`
    found.set(title, [...found.get(title) ?? [], measurement])
  }
  return found
}

/**
 * Describes the MongoDB of the figures: others speak its protocol, and report the version of MongoDB with which they
 * are compatible.
 */
export function mongoName (mongodb: Results['mongodb']): string {
  if (mongodb === undefined) return 'MongoDB scripted in memory, nothing is durable'
  const { version, process: program, ferretdb } = mongodb.buildInfo
  const other = ferretdb === undefined ? program : 'FerretDB'
  return `${other === undefined ? 'MongoDB' : `${String(other)}, compatible with MongoDB`} ${String(version)} at ${mongodb.address}`
}

export const labelOf = ({ spec }: Measurement): string => contender(spec.server).label

export function figure ({ rounds }: Measurement, pick: Figure): Spread | undefined {
  const values = rounds.flatMap(round => pick(round) ?? [])
  return values.length === 0 ? undefined : spread(values)
}

/** A server cannot keep up with a rate if it could not in most rounds. */
export function keepsUp ({ rounds }: Measurement): boolean {
  return rounds.filter(({ keptUp }) => keptUp === false).length * 2 < rounds.length
}

/** The generator was saturated, so the throughput is a lower bound. */
export function isAtLeast (measurement: Measurement): boolean {
  return (figure(measurement, round => round.generatorBusy)?.median ?? 0) > 0.9
}

/** How a measurement compares with a base (see `Case.bases`); undefined for two throughputs if one is a lower bound. */
export function ratioTo (
  base: string, measurement: Measurement, pick: Figure, { measurements }: Results
): Spread | undefined {
  const { spec } = measurement
  const server = base === 'first' ? spec.server : base === 'fastify' ? `fastify-${contender(spec.server).store}` : base
  const other = measurements.find(
    one => one.spec.case === spec.case && one.spec.server === server && one.spec.connections === spec.connections
  )
  if (
    other === undefined ||
    other === measurement ||
    (pick === perSecond && (isAtLeast(other) || isAtLeast(measurement)))
  ) { return undefined }
  const [values, others] = [measurement, other].map(one => one.rounds.flatMap(round => pick(round) ?? []))
  return values === undefined || others === undefined || values.length * others.length === 0
    ? undefined
    : ratio(values, others)
}
