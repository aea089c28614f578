import type { CaseName, Target } from './cases.js'
import type { Percentiles } from './latency-histogram.js'
import type { IdOrder } from './plant-ids.js'

export interface LoadJob {
  target: Target
  caseName: CaseName
  order: IdOrder
  connections: number
  warmUp: number
  duration: number
  /** Set: an open loop of that many starts a second. Unset: a closed loop, each connection sending as soon as it was answered. */
  rate?: number
  generator: 'autocannon' | 'lean'
  /** Open loop only: seconds in which answers may still come after the last start; by default 5, as a stall may last. */
  drain?: number
}

export interface LoadResult {
  /** Answers in the window, after the warm-up. */
  answers: number
  seconds: number
  /** All 200s, the warm-up's too: the store must hold at least what was acknowledged. */
  acknowledged: number
  latency: Percentiles
  /** The load generator's own event loop: near 1, it was the generator that was measured. */
  generatorBusy: number
  /** Open loop only: starts in the window that were never answered (counted in the latency with their age). */
  unanswered: number
  /** Open loop only: 99th percentile, in microseconds, of a start's own lateness; what is below it in the latency is ours, not the server's. */
  lateness?: number
}

/** What a loop says while it runs: the edges of the window, for whoever watches the server's processor time. */
export interface LoadWatcher { opened: () => void, closed: () => void }
