/** In µs. */
export interface Percentiles { p50: number, p99: number, p999: number, max: number }

/** The figures of one round; those that do not apply are undefined. */
export interface Round {
  perSecond?: number | undefined // answers
  latency?: Percentiles | undefined
  busiestThread?: number | undefined // µs of the server's processor time for one answer
  allThreads?: number | undefined
  generator?: number | undefined // µs of the generator's processor time for one answer
  generatorBusy?: number | undefined // share of time in which a closed loop's generator was busy
  lateness?: number | undefined // µs, p99, by which an open loop's generator started requests late
  keptUp?: boolean | undefined // whether the server kept up with an open loop's rate
  plantsPerCommit?: number | undefined
  price?: number | undefined // µs of a request in the case `price`, its client included
  firstDividedByIt?: number | undefined // price of the first server in the process ÷ price of this one
}
