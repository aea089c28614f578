import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkAnswer } from './check-answer.js'
import type { Expected } from './cases.js'
import { latencyHistogram } from './latency-histogram.js'
import type { LoadJob, LoadResult, LoadWatcher } from './load-job.js'

/** Counts what falls between the end of the warm-up and the end of the run, and fails at the first wrong answer. */
export class LoadWindow {
  readonly #histogram = latencyHistogram()
  readonly #job: LoadJob
  readonly #failed: Promise<never>
  #reject: (error: Error) => void = () => {}
  #opensAt = Infinity
  #closesAt = Infinity
  #answers = 0
  #acknowledged = 0
  #busy = 0

  constructor (job: LoadJob) {
    this.#job = job
    this.#failed = new Promise((_resolve, reject) => { this.#reject = reject })
    this.#failed.catch(() => {})
  }

  /** `belongsAt` decides whether the answer counts: its end in a closed loop, its intended start in an open one. */
  answer (expected: Expected, status: number, body: string, belongsAt: number, milliseconds: number): void {
    try {
      checkAnswer(expected, status, body)
    } catch (error) {
      this.fail(error as Error)
      return
    }
    if (status === 200) this.#acknowledged++
    this.count(belongsAt, milliseconds)
  }

  count (belongsAt: number, milliseconds: number): void {
    if (belongsAt < this.#opensAt || belongsAt >= this.#closesAt) return
    this.#answers++
    this.#histogram.record(milliseconds)
  }

  fail (error: Error): void {
    this.#reject(error)
  }

  isWithin (at: number): boolean {
    return at >= this.#opensAt && at < this.#closesAt
  }

  async pass (watcher: LoadWatcher): Promise<void> {
    this.#opensAt = performance.now() + this.#job.warmUp * 1000
    this.#closesAt = this.#opensAt + this.#job.duration * 1000
    await this.#until(this.#opensAt)
    const before = performance.eventLoopUtilization()
    watcher.opened()
    await this.#until(this.#closesAt)
    this.#busy = performance.eventLoopUtilization(before).utilization
    watcher.closed()
  }

  async settled (work: Promise<unknown>): Promise<void> {
    await Promise.race([work, this.#failed])
  }

  result (unanswered = 0): LoadResult {
    return {
      answers: this.#answers,
      seconds: this.#job.duration,
      acknowledged: this.#acknowledged,
      latency: this.#histogram.percentiles(),
      generatorBusy: this.#busy,
      unanswered
    }
  }

  async #until (at: number): Promise<void> {
    const timer = new AbortController()
    try {
      await this.settled(sleep(Math.max(0, at - performance.now()), undefined, { signal: timer.signal }))
    } finally {
      timer.abort()
    }
  }
}
