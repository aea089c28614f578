import { performance } from 'node:perf_hooks'
import type { NextShot } from './cases.js'
import { openConnections } from './http-connection.js'
import type { HttpConnection } from './http-connection.js'
import { latencyHistogram } from './latency-histogram.js'
import type { LoadJob, LoadResult, LoadWatcher } from './load-job.js'
import { LoadWindow } from './load-window.js'

/**
 * Starts requests at a fixed rate whatever the server does, and measures each from the moment at which it should have
 * started: a request that found no free connection has waited, and a stall shows in all the requests it delayed.
 */
export async function openLoop (job: LoadJob & { rate: number }, next: NextShot, watcher: LoadWatcher): Promise<LoadResult> {
  const window = new LoadWindow(job)
  const lateness = latencyHistogram()
  const free: HttpConnection[] = []
  const inFlight = new Set<HttpConnection>()
  const connections = await openConnections(job.target.url, job.connections, {
    answered (connection, status, body) {
      const { shot, startedAt } = connection
      inFlight.delete(connection)
      free.push(connection)
      if (shot !== undefined) window.answer(shot.expected, status, body, startedAt, performance.now() - startedAt)
      startDue()
    },
    failed (error) { window.fail(error) }
  })
  free.push(...connections)

  const interval = 1000 / job.rate
  const begin = performance.now()
  const total = Math.floor((job.warmUp + job.duration) * job.rate)
  let started = 0
  let ended = false

  function startDue (): void {
    const now = performance.now()
    const due = Math.min(total, Math.floor((now - begin) / interval) + 1)
    for (; started < due; started++) {
      const connection = free.pop()
      if (connection === undefined) return
      const intended = begin + started * interval
      // A start that another start's answer had to free a connection for is late because of the server, not of us.
      if (window.isWithin(intended) && free.length > 0) lateness.record(now - intended)
      inFlight.add(connection)
      connection.send(next(), intended)
    }
  }

  const nap = new Int32Array(new SharedArrayBuffer(4))
  function tick (): void {
    startDue()
    if (ended) return
    // A timer may be 2 ms late, and spinning would take a core from the server: near the next start, naps of 0.1 ms.
    const untilNext = started < total ? begin + started * interval - performance.now() : Infinity
    if (untilNext > 5) {
      setTimeout(tick, Math.min(50, untilNext - 3))
    } else {
      if (untilNext > 0.02) Atomics.wait(nap, 0, 0, Math.min(0.1, untilNext))
      setImmediate(tick)
    }
  }

  try {
    setImmediate(tick)
    await window.pass(watcher)
    // What is unanswered then counts with its age.
    const giveUpAt = performance.now() + (job.drain ?? 5) * 1000
    await window.settled(drained(() => inFlight.size === 0 && started >= total, giveUpAt))
  } finally {
    ended = true
    connections.forEach((connection) => { connection.close() })
  }

  const now = performance.now()
  let unanswered = 0
  for (const { startedAt } of inFlight) leftOver(startedAt)
  for (; started < total; started++) leftOver(begin + started * interval)
  function leftOver (intended: number): void {
    if (!window.isWithin(intended)) return
    unanswered++
    window.count(intended, now - intended)
  }
  const result = window.result(unanswered)
  return { ...result, answers: result.answers - unanswered, lateness: lateness.percentiles().p99 }
}

async function drained (isEmpty: () => boolean, giveUpAt: number): Promise<void> {
  while (!isEmpty() && performance.now() < giveUpAt) await new Promise((resolve) => setTimeout(resolve, 5))
}
