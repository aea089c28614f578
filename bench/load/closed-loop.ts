import { performance } from 'node:perf_hooks'
import autocannon from 'autocannon'
import type { Shot } from './requests.js'
import { Window, type LoadJob, type LoadResult } from './window.js'

declare module 'autocannon' {
  /** Members that are missing from autocannon's types. */
  interface Client {
    opts: { verifyBody: (body: string) => boolean }
    getRequestBuffer: () => string
  }
}

/**
 * A closed loop, by autocannon: each connection sends its next request after the response to the last one. Requests are
 * complete strings: autocannon's `setupRequest` doubles its cost, which matters if it shares two cores with the server.
 */
export async function closedLoop (job: LoadJob, next: () => Shot): Promise<LoadResult> {
  const window = new Window(job)
  const options = {
    url: job.url,
    method: 'POST',
    connections: job.connections,
    duration: job.leadIn + job.duration + 60,
    sampleInt: 50, // milliseconds between checks for a stop
    timeout: 30,
    setupClient (client) {
      let sent: Shot
      let sentAt = 0
      let finish: (body: string) => void = () => {}
      client.getRequestBuffer = () => {
        sentAt = performance.now()
        sent = next()
        return sent.text
      }
      // autocannon reports the status, then asks for the next request, and only then returns the body.
      client.on('response', status => {
        const [shot, since] = [sent, sentAt]
        finish = body => window.answer(shot, status, body, since)
      })
      client.opts.verifyBody = body => {
        finish(body)
        return true
      }
    }
  } satisfies autocannon.Options & { sampleInt: number }
  const run = autocannon(options, () => {})
  run.on('reqError', window.fail)
  try {
    return await window.pass()
  } finally {
    const stopped = new Promise(resolve => run.once('done', resolve))
    run.stop?.()
    await stopped
  }
}
