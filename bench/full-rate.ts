import { closedKey, specKey } from './spec.js'
import type { Measurement, Spec } from './spec.js'
import { median } from './statistics.js'

/** What the server took at most, by the closed loop of the same run: the rate of which an open loop takes a share. */
export function fullRate (spec: Spec, soFar: readonly Measurement[]): number {
  const closed = soFar.find((other) => specKey(other.spec) === closedKey(spec) && other.rounds.length > 0)
  if (closed === undefined) throw new Error(`a share of ${spec.server}'s full rate needs its closed loop in the same run`)
  return median(closed.rounds.map((round) => round.perSecond))
}
