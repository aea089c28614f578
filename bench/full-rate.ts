import type { Measurement, Spec } from './spec.js'
import { median } from './statistics.js'

/** What the server took at most, by the closed loop of the same run: the rate of which an open loop takes a share. */
export function fullRate (spec: Spec, soFar: readonly Measurement[]): number {
  const closed = soFar.find(({ spec: other, rounds }) => other.kind === 'closed' && rounds.length > 0 &&
    other.server === spec.server && other.caseName === spec.caseName && other.connections === spec.connections &&
    other.order === spec.order && other.plants === spec.plants && other.distance === spec.distance && other.mongodb === spec.mongodb)
  if (closed === undefined) throw new Error(`a share of ${spec.server}'s full rate needs its closed loop in the same run`)
  return median(closed.rounds.map((round) => round.perSecond))
}
