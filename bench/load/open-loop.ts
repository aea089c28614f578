import { createHistogram, performance } from 'node:perf_hooks'
import { openConnections } from './connection.js'
import { MeasurementWindow, type LoadJob, type LoadResult } from './measurement-window.js'
import { createRequests } from './requests.js'

/**
 * Starts requests at a fixed rate a second, however slow the server is, and measures each from the time at which it
 * should have started: a stall of half a second shows in all requests that it delayed, not in one per connection.
 */
export async function openLoop (job: LoadJob, rate: number): Promise<LoadResult> {
  const window = new MeasurementWindow()
  const next = createRequests(job.url, job.token, job.api)
  const connections = await openConnections(job.url, job.connections, window.fail)
  const free = [...connections] // they take turns: a server closes one that is idle, Node after 5 s
  const lateStarts = createHistogram()
  const total = Math.floor((job.leadIn + job.duration) * rate)
  const begin = performance.now()
  const dueAt = (index: number): number => begin + index * 1000 / rate
  let started = 0
  let isStopped = false

  function startDue (): void {
    const now = performance.now()
    while (started < total && dueAt(started) <= now) {
      const connection = free.shift()
      if (connection === undefined) return
      const since = dueAt(started++)
      // A start that had to wait for a free connection is late because of the server, not of the generator.
      if (window.includes(since) && free.length > 0) window.record(now - since, lateStarts)
      const shot = next()
      connection.send(shot.text, (status, body) => {
        free.push(connection)
        window.answer(shot, status, body, since)
        startDue()
      })
    }
  }

  function untilNextStart (): number {
    if (started === total) return Infinity
    return free.length === 0 ? 0.1 : dueAt(started) - performance.now()
  }

  const nap = new Int32Array(new SharedArrayBuffer(4))
  function tick (): void {
    startDue()
    if (isStopped) return
    // Timers are up to 2 ms late, and a busy loop occupies a core. Close to a start, it sleeps for 0.1 ms at a time.
    const wait = untilNextStart()
    if (wait > 5) {
      setTimeout(tick, Math.min(50, wait - 3))
    } else {
      if (wait > 0.02) Atomics.wait(nap, 0, 0, Math.min(0.1, wait))
      setImmediate(tick)
    }
  }

  async function drain (): Promise<void> {
    // What is due can start for another second.
    await window.until(() => started === total || performance.now() > dueAt(total) + 1000)
    // A request that could not even start counts with the time it has waited.
    for (; started < total; started++) {
      if (window.includes(dueAt(started))) window.record(performance.now() - dueAt(started))
    }
    await window.until(() => free.length === connections.length)
  }

  try {
    tick()
    const result = await window.pass(job, drain)
    const keptUp = result.perSecond > rate * 0.95
    // The short sleeps of an open loop count as busy time.
    return { ...result, generatorBusy: undefined, lateness: lateStarts.percentile(99) || undefined, keptUp }
  } finally {
    isStopped = true
    for (const connection of connections) connection.close()
  }
}
