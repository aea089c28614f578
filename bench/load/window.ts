import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Round } from '../results.js'
import { processorTime } from '../run/processor-time.js'
import { percentiles } from '../statistics.js'
import { checkAnswer, type Shot } from './requests.js'

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
export interface LoadResult extends Round { answers: number, acknowledged: number }

/** The measured part of a run. The first wrong answer fails the run. */
export class Window {
  readonly #job: LoadJob
  readonly #latencies: number[] = []
  readonly #failed: Promise<never>
  #opensAt = Infinity
  #closesAt = Infinity
  #answers = 0
  #acknowledged = 0
  #hasFailed = false
  fail: (error: unknown) => void = () => {}

  constructor (job: LoadJob) {
    this.#job = job
    this.#failed = new Promise((_resolve, reject) => { this.fail = reject })
    this.#failed.catch(() => { this.#hasFailed = true })
  }

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

  /** Also returns if the run has failed. */
  async until (isDone: () => boolean): Promise<void> {
    while (!isDone() && !this.#hasFailed) await sleep(5)
  }

  record (milliseconds: number): void {
    this.#latencies.push(milliseconds * 1000)
  }

  includes (moment: number): boolean {
    return moment >= this.#opensAt && moment < this.#closesAt
  }

  /** Waits until the window is over, and then for missing responses: a request without one may or may not be stored. */
  async pass (drain: () => Promise<void>): Promise<LoadResult> {
    const { leadIn, duration, pid, patience = 10_000 } = this.#job
    const unlessFailed = (work: Promise<void>): Promise<void> => Promise.race([work, this.#failed])
    this.#opensAt = performance.now() + leadIn * 1000
    this.#closesAt = this.#opensAt + duration * 1000
    await unlessFailed(sleep(leadIn * 1000))
    const before = performance.eventLoopUtilization()
    const ownBefore = process.cpuUsage()
    const used = pid === undefined ? undefined : processorTime(pid)
    await unlessFailed(sleep(this.#closesAt - performance.now()))
    const { utilization: generatorBusy } = performance.eventLoopUtilization(before)
    const { user, system } = process.cpuUsage(ownBefore)
    const { busiestThread, allThreads } = used?.() ?? {}
    const giveUp = setTimeout(() => this.fail(new Error(`a request had no response for ${patience / 1000} s`)), patience)
    await unlessFailed(drain()).finally(() => clearTimeout(giveUp))
    const answers = this.#answers
    const perAnswer = (micros?: number): number | undefined => micros && answers > 0 ? micros / answers : undefined
    return {
      answers,
      acknowledged: this.#acknowledged,
      perSecond: answers / duration,
      latency: percentiles(this.#latencies),
      busiestThread: perAnswer(busiestThread),
      allThreads: perAnswer(allThreads),
      generator: perAnswer(user + system),
      generatorBusy
    }
  }
}
