import { performance } from 'node:perf_hooks'
import { openConnections, type Connection } from './connection.js'
import { MeasurementWindow, type LoadJob, type LoadResult } from './measurement-window.js'
import { createRequests, type Shot } from './requests.js'

/** Each connection sends its next request after the response to the last one. */
export async function closedLoop (job: LoadJob): Promise<LoadResult> {
  const window = new MeasurementWindow()
  const connections = await openConnections(job.url, job.connections, window.fail)
  const loop = requestLoop(connections, createRequests(job.url, job.token), window.answer)
  try {
    loop.start()
    return await window.pass(job, async () => {
      loop.stop()
      await window.until(loop.isIdle)
    })
  } finally {
    for (const connection of connections) connection.close()
  }
}

/** Sends requests from `start` to `stop`, and is idle when all of them are answered. */
export function requestLoop (
  connections: readonly Connection[], next: () => Shot, onAnswer: MeasurementWindow['answer']
) {
  let isRunning = false
  let pending = 0

  function send (connection: Connection): void {
    const shot = next()
    const since = performance.now()
    pending++
    connection.send(shot.text, (status, body) => {
      pending--
      onAnswer(shot, status, body, since)
      if (isRunning) send(connection)
    })
  }

  return {
    start () {
      isRunning = true
      for (const connection of connections) send(connection)
    },
    stop: () => { isRunning = false },
    isIdle: () => pending === 0
  }
}
