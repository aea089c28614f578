import { caseOf } from '../cases.js'
import { contender } from '../contenders.js'
import type { Measurement, Results, Round } from '../results.js'
import { ratio, spread, type Spread } from '../statistics.js'

/** Selects a figure of a round. */
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
    const at = ['commits', 'single', 'start'].includes(name) ? '' : `, ${connections} connections`
    const title = `${name}: ${caseOf(name).what}${at}${contender(server).store === 'mongodb' ? `; ${mongoName(mongodb)}` : ''}`
    found.set(title, [...found.get(title) ?? [], measurement])
  }
  return found
}

/** Names the MongoDB that was measured. Compatible servers report the version of MongoDB that they emulate. */
export function mongoName (mongodb: Results['mongodb']): string {
  if (mongodb === undefined) return 'MongoDB scripted in memory, nothing is durable'
  const { version, process: program, ferretdb } = mongodb.buildInfo
  const other = ferretdb === undefined ? program : 'FerretDB'
  return `${other === undefined ? 'MongoDB' : `${String(other)}, compatible with MongoDB`} ${String(version)} at ${mongodb.address}`
}

export const labelOf = ({ spec }: Measurement): string => contender(spec.server).label

const valuesOf = ({ rounds }: Measurement, pick: Figure): number[] => rounds.flatMap(round => pick(round) ?? [])

export function figure (measurement: Measurement, pick: Figure): Spread | undefined {
  const values = valuesOf(measurement, pick)
  return values.length === 0 ? undefined : spread(values)
}

export function medianOf (measurement: Measurement, pick: Figure): number | undefined {
  return figure(measurement, pick)?.median
}

/** A server keeps up with a rate if it did so in more than half of the rounds. */
export function keepsUp ({ rounds }: Measurement): boolean {
  return rounds.filter(({ keptUp }) => keptUp === false).length * 2 < rounds.length
}

/** The generator was saturated, so the throughput is a lower bound. */
export function isAtLeast (measurement: Measurement): boolean {
  return (medianOf(measurement, round => round.generatorBusy) ?? 0) > 0.9
}

/** The ratio to a base (see `Case.bases`); undefined for throughputs of which one is a lower bound. */
export function ratioTo (
  base: string, measurement: Measurement, pick: Figure, { measurements }: Results
): Spread | undefined {
  const { spec } = measurement
  const server = base === 'first' ? spec.server : base === 'fastify' ? `fastify-${contender(spec.server).store}` : base
  const other = measurements.find(
    one => one.spec.case === spec.case && one.spec.server === server && one.spec.connections === spec.connections
  )
  if (other === undefined || other === measurement) return undefined
  if (pick === perSecond && [other, measurement].some(isAtLeast)) return undefined
  const [values, others] = [valuesOf(measurement, pick), valuesOf(other, pick)]
  return values.length * others.length === 0 ? undefined : ratio(values, others)
}
