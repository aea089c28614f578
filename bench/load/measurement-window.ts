import { createHistogram, performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { processorTime } from './processor-time.js'
import { checkAnswer, type Shot } from './requests.js'
import type { Round } from './round.js'

export interface LoadJob {
  url: string
  token: string
  connections: number
  leadIn: number // seconds at the start that are not measured
  duration: number // seconds
  rate?: number | undefined // requests that an open loop starts per second; undefined for a closed loop
  patience?: number // ms to wait for the last responses
  pid?: number | undefined // of the server, to measure its processor time; undefined if it runs elsewhere
}

/** The figures of the window, and how many plants were acknowledged in the whole run: the store must hold as many. */
export interface LoadResult extends Round { perSecond: number, acknowledged: number }

/** The measured part of a run. The first wrong answer fails the run. */
export class MeasurementWindow {
  readonly #latencies = createHistogram()
  readonly #failure = new AbortController()
  readonly fail = (error: unknown): void => this.#failure.abort(error)
  #opensAt = Infinity
  #closesAt = Infinity
  #answers = 0
  #acknowledged = 0

  /** @param since when the request started or, in an open loop, should have started, which decides if it counts */
  answer (shot: Shot, status: number, body: string, since: number): void {
    try {
      checkAnswer(shot, status, body)
    } catch (error) {
      return this.fail(error)
    }
    const now = performance.now()
    this.#acknowledged++
    if (this.includes(now)) this.#answers++
    if (this.includes(since)) this.record(now - since)
  }

  /** In whole microseconds, of which a histogram takes no 0. */
  record (milliseconds: number, histogram = this.#latencies): void {
    histogram.record(Math.max(1, Math.round(milliseconds * 1000)))
  }

  includes (moment: number): boolean {
    return moment >= this.#opensAt && moment < this.#closesAt
  }

  /** @throws {Error} as soon as the run fails */
  async until (isDone: () => boolean): Promise<void> {
    while (!isDone()) await this.#sleep(5)
  }

  async #sleep (milliseconds: number): Promise<void> {
    const { signal } = this.#failure
    await sleep(milliseconds, undefined, { signal }).catch(() => signal.throwIfAborted())
  }

  /** Waits until the window is over, and then for missing responses: a request without one may or may not be stored. */
  async pass ({ leadIn, duration, pid, patience = 10_000 }: LoadJob, drain: () => Promise<void>): Promise<LoadResult> {
    this.#opensAt = performance.now() + leadIn * 1000
    this.#closesAt = this.#opensAt + duration * 1000
    await this.#sleep(leadIn * 1000)
    const before = performance.eventLoopUtilization()
    const ownBefore = process.cpuUsage()
    const used = pid === undefined ? undefined : processorTime(pid)
    await this.#sleep(this.#closesAt - performance.now())
    const { utilization: generatorBusy } = performance.eventLoopUtilization(before)
    const { user, system } = process.cpuUsage(ownBefore)
    const server = used?.()
    const late = new Error(`a request had no response for ${patience / 1000} s`)
    const giveUp = setTimeout(() => this.fail(late), patience)
    await drain().finally(() => clearTimeout(giveUp))
    const answers = this.#answers
    const latencies = this.#latencies
    const perAnswer = (micros?: number): number | undefined => micros && answers > 0 ? micros / answers : undefined
    const [p50 = 0, p99 = 0, p999 = 0] = [50, 99, 99.9].map(share => latencies.percentile(share))
    return {
      acknowledged: this.#acknowledged,
      perSecond: answers / duration,
      latency: latencies.count > 0 ? { p50, p99, p999, max: latencies.max } : undefined,
      busiestThread: perAnswer(server?.busiestThread),
      allThreads: perAnswer(server?.allThreads),
      generator: perAnswer(user + system),
      generatorBusy
    }
  }
}
