import { performance } from 'node:perf_hooks'
import { openConnections, type Connection } from './connection.js'
import { MeasurementWindow, type LoadJob, type LoadResult } from './measurement-window.js'
import { createRequests } from './requests.js'

/** Each connection sends its next request after the response to the last one. */
export async function closedLoop (job: LoadJob): Promise<LoadResult> {
  const window = new MeasurementWindow()
  const next = createRequests(job.url, job.token)
  const connections = await openConnections(job.url, job.connections, window.fail)
  let pending = 0
  let isOver = false

  function send (connection: Connection): void {
    const shot = next()
    const since = performance.now()
    pending++
    connection.send(shot.text, (status, body) => {
      pending--
      window.answer(shot, status, body, since)
      if (!isOver) send(connection)
    })
  }

  async function drain (): Promise<void> {
    isOver = true
    await window.until(() => pending === 0)
  }

  try {
    for (const connection of connections) send(connection)
    return await window.pass(job, drain)
  } finally {
    for (const connection of connections) connection.close()
  }
}
