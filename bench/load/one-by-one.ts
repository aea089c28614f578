import { createHistogram, performance } from 'node:perf_hooks'
import { openConnections } from './connection.js'
import type { LoadJob, Round } from './measurement-window.js'
import { checkAnswer, createRequests } from './requests.js'

const PATIENCE = 10_000 // ms

/**
 * Sends one request after another, so few that the store hardly grows.
 * @param count how many; fewer if `duration` is over before
 * @returns the figures, and how many plants were acknowledged; a server that does not respond within 10 s has not kept
 *   up, and may have stored one more
 */
export async function oneByOne (job: LoadJob, count: number): Promise<Round & { acknowledged: number }> {
  const latencies = createHistogram()
  const next = createRequests(job.url, job.token, job.api)
  const endsAt = performance.now() + job.duration * 1000
  let acknowledged = 0
  let isLate = false
  let fail = (_error: Error): void => {}
  const [connection] = await openConnections(job.url, 1, error => fail(error))
  if (connection === undefined) throw new Error('no connection')
  try {
    while (!isLate && acknowledged < count && performance.now() < endsAt) {
      const shot = next()
      const since = performance.now()
      isLate = await new Promise<boolean>((resolve, reject) => {
        fail = reject
        const late = setTimeout(() => resolve(true), PATIENCE)
        connection.send(shot.text, (status, body) => {
          clearTimeout(late)
          try {
            checkAnswer(shot, status, body)
            resolve(false)
          } catch (error) {
            reject(error)
          }
        })
      })
      if (isLate) break
      latencies.record(Math.max(1, Math.round((performance.now() - since) * 1000)))
      acknowledged++
    }
  } finally {
    connection.close()
  }
  if (isLate) return { acknowledged, keptUp: false }
  return { acknowledged, keptUp: true, p50: latencies.percentile(50), max: latencies.max }
}
