import { performance } from 'node:perf_hooks'
import type { NextShot } from './cases.js'
import { openConnections } from './http-connection.js'
import type { HttpConnection } from './http-connection.js'
import type { LoadJob, LoadResult, LoadWatcher } from './load-job.js'
import { LoadWindow } from './load-window.js'

/** The closed loop without autocannon, for a machine with so few cores that autocannon's own cost shows in the figures. */
export async function leanClosedLoop (job: LoadJob, next: NextShot, watcher: LoadWatcher): Promise<LoadResult> {
  const window = new LoadWindow(job)
  const connections = await openConnections(job.target.url, job.connections, {
    answered (connection, status, body) {
      const now = performance.now()
      if (connection.shot !== undefined) {
        window.answer(connection.shot.expected, status, body, now, now - connection.startedAt)
      }
      connection.send(next(), now)
    },
    failed (error) { window.fail(error) }
  })
  try {
    connections.forEach((connection: HttpConnection) => { connection.send(next(), performance.now()) })
    await window.pass(watcher)
  } finally {
    connections.forEach((connection) => { connection.close() })
  }
  return window.result()
}
