import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createHistogram, performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '../plan/apis.js'
import { checkAnswer, type Shot } from './requests.js'

/** Milliseconds. */
export const PATIENCE = 10_000

export interface LoadJob {
  url: string
  token: string
  api?: Api
  connections: number
  leadIn: number // seconds at the start that are not measured
  duration: number // seconds
  patience?: number // ms to wait for the last responses, or for each of them
  pid?: number | undefined // of the server, to measure its processor time; undefined if it runs elsewhere
}

/** The figures of one round; those that do not apply are undefined. */
export interface Round {
  perSecond?: number | undefined // answers
  p50?: number | undefined // µs of latency
  p99?: number | undefined
  max?: number | undefined
  busiestThread?: number | undefined // µs of the server's processor time for one answer
  allThreads?: number | undefined
  generator?: number | undefined // µs of the generator's processor time for one answer
  generatorBusy?: number | undefined // share of time in which a closed loop's generator was busy
  lateness?: number | undefined // µs, p99, by which an open loop's generator started requests late
  keptUp?: boolean | undefined // whether the server kept up with the rate of an open loop, or answered one in time
  plantsPerCommit?: number | undefined
  price?: number | undefined // µs of what servers do in turns: a request with its client, a create, a start
  firstDividedByIt?: number | undefined // price of the first server ÷ price of this one
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
  readonly answer = (shot: Shot, status: number, body: string, since: number): void => {
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
  async pass (job: LoadJob, drain: () => Promise<void>): Promise<LoadResult> {
    const { leadIn, duration, pid, patience = PATIENCE } = job
    this.#opensAt = performance.now() + leadIn * 1000
    this.#closesAt = this.#opensAt + duration * 1000
    await this.#sleep(leadIn * 1000)
    const before = performance.eventLoopUtilization()
    const ownBefore = process.cpuUsage()
    const threadsBefore = threadTimes(pid)
    await this.#sleep(this.#closesAt - performance.now())
    const { utilization: generatorBusy } = performance.eventLoopUtilization(before)
    const { user, system } = process.cpuUsage(ownBefore)
    const threads = [...threadTimes(pid)].map(([thread, time]) => time - (threadsBefore.get(thread) ?? 0))
    const late = new Error(`a request had no response for ${patience / 1000} s`)
    const giveUp = setTimeout(() => this.fail(late), patience)
    await drain().finally(() => clearTimeout(giveUp))
    const answers = this.#answers
    const latencies = this.#latencies
    const perAnswer = (micros: number): number | undefined => micros > 0 && answers > 0 ? micros / answers : undefined
    return {
      acknowledged: this.#acknowledged,
      perSecond: answers / duration,
      p50: latencies.percentile(50) || undefined,
      p99: latencies.percentile(99) || undefined,
      max: latencies.max || undefined,
      busiestThread: perAnswer(Math.max(...threads)),
      allThreads: perAnswer(threads.reduce((sum, one) => sum + one, 0)),
      generator: perAnswer(user + system),
      generatorBusy
    }
  }
}

/** The µs of processor time that each thread of a process has used; none without Linux's /proc. */
function threadTimes (pid: number | undefined): Map<string, number> {
  if (pid === undefined || !existsSync('/proc/self/schedstat')) return new Map()
  return new Map(readdirSync(`/proc/${pid}/task`).map(thread => {
    try {
      const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1')
      return [thread, Number(text.split(' ')[0]) / 1000]
    } catch {
      return [thread, 0] // it has just ended
    }
  }))
}
