import { createHistogram, performance } from 'node:perf_hooks'
import { openConnections } from './connection.js'
import { PATIENCE, type LoadJob, type Round } from './measurement-window.js'
import { checkAnswer, createRequests, type Shot } from './requests.js'

/**
 * Sends one request after another, so few that the store hardly grows.
 * @param count how many; fewer if `duration` is over before
 * @returns the figures, and how many plants were acknowledged. A server that has not responded in time has not kept up,
 *   and may have stored one more.
 */
export async function oneByOne (job: LoadJob, count: number): Promise<Round & { acknowledged: number }> {
  const latencies = createHistogram()
  const next = createRequests(job.url, job.token, job.api)
  let fail = (_error: unknown): void => {}
  const [connection] = await openConnections(job.url, 1, error => fail(error))

  const isAnsweredInTime = (shot: Shot): Promise<boolean> => new Promise((resolve, reject) => {
    fail = reject
    const late = setTimeout(() => resolve(false), job.patience ?? PATIENCE)
    connection?.send(shot.text, (status, body) => {
      clearTimeout(late)
      try {
        checkAnswer(shot, status, body)
        resolve(true)
      } catch (error) {
        reject(error)
      }
    })
  })

  const endsAt = performance.now() + job.duration * 1000
  let acknowledged = 0
  try {
    while (acknowledged < count && performance.now() < endsAt) {
      const since = performance.now()
      if (!await isAnsweredInTime(next())) return { acknowledged, keptUp: false }
      latencies.record(Math.max(1, Math.round((performance.now() - since) * 1000)))
      acknowledged++
    }
    return { acknowledged, keptUp: true, p50: latencies.percentile(50), max: latencies.max }
  } finally {
    connection?.close()
  }
}
