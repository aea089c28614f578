import type { CaseName } from './cases.js'
import type { Percentiles } from './latency-histogram.js'
import type { IdOrder } from './plant-ids.js'

/** One thing to measure, once in every round. */
export interface Spec {
  kind: 'closed' | 'open' | 'start' | 'insert-many'
  /** A contender's name; for 'start' also hello-fastify, for 'insert-many' the loop itself. */
  server: string
  caseName: CaseName
  connections: number
  order: IdOrder
  /** Starts a second, or a share of the server's own full rate as the closed loop of the same run found it. */
  rate?: number | { share: number }
  /** Plants in the store beforehand (SQLite). */
  plants?: number
  /** Milliseconds to the MongoDB, through the delaying proxy. */
  distance?: number
  mongodb?: 'scripted' | 'given'
}

/** What a round found. */
export interface Round {
  /** Answers a second; documents a second of the insertMany loop; for 'start' 1000 / milliseconds, so that more is always better. */
  perSecond: number
  latency?: Percentiles
  /** Microseconds of the server's processor time for one answer, all threads together. */
  processorMicros?: number
  peakMemory?: number
  generatorBusy?: number
  unanswered?: number
  lateness?: number
  /** The rate asked for, of an open loop. */
  rate?: number
  /** The distance as one command and its answer measured it, in milliseconds. */
  measuredDistance?: number
}

export interface Measurement { spec: Spec, rounds: Round[], left?: string }

/** The key of the closed loop that finds an open one's full rate. */
export function closedKey ({ rate, ...spec }: Spec): string {
  return specKey({ ...spec, kind: 'closed' })
}

/** Tells one spec from another within a run and between runs: --compare finds its pairs by it. */
export function specKey (spec: Spec): string {
  return [
    spec.kind, spec.server, spec.caseName, `c${spec.connections}`, spec.order,
    ...(spec.rate === undefined ? [] : [typeof spec.rate === 'number' ? `${spec.rate}/s` : `${spec.rate.share * 100}%`]),
    ...(spec.plants === undefined ? [] : [`plants=${spec.plants}`]),
    ...(spec.distance === undefined ? [] : [`distance=${spec.distance}ms`]),
    ...(spec.mongodb === undefined ? [] : [`mongodb=${spec.mongodb}`])
  ].join(' ')
}
