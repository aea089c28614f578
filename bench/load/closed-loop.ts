import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import autocannon from 'autocannon'
import { MeasurementWindow, type LoadJob, type LoadResult } from './measurement-window.js'
import { createRequests, type Shot } from './requests.js'

declare module 'autocannon' {
  /** Members that are missing from autocannon's types. */
  interface Client {
    getRequestBuffer: () => string
    requestIterator: { recordBody: (request: unknown, status: number, body: string) => void }
    responseMax?: number
    on (event: 'done', listener: () => void): this
  }
  interface Options { sampleInt?: number }
}

/**
 * A closed loop, by autocannon: each connection sends its next request after the response to the last one. Requests are
 * complete strings: autocannon's `setupRequest` doubles its cost, which matters if it shares two cores with the server.
 */
export async function closedLoop (job: LoadJob): Promise<LoadResult> {
  const window = new MeasurementWindow()
  const next = createRequests(job.url, job.token, job.api)
  const clients: autocannon.Client[] = []
  let pending = 0
  const run = autocannon({
    url: job.url,
    connections: job.connections,
    duration: job.leadIn + job.duration + 60,
    sampleInt: 50, // milliseconds between checks for a stop
    timeout: 30,
    setupClient (client) {
      let sent: Shot | undefined
      let sentAt = 0
      clients.push(client)
      // autocannon reconnects and sends the next request, as if this one had not been sent, or ends, if it has a limit.
      const failIfSent = (): void => {
        if (sent !== undefined) window.fail(new Error('the server closed a connection'))
      }
      client.on('done', failIfSent)
      client.getRequestBuffer = () => {
        failIfSent()
        sentAt = performance.now()
        sent = next()
        pending++
        return sent.text
      }
      client.requestIterator.recordBody = (_request, status, body) => {
        pending--
        if (sent !== undefined) window.answer(sent, status, body, sentAt)
        sent = undefined
      }
    }
  }, () => {})
  const stopped = once(run, 'done')
  run.on('reqError', window.fail)

  try {
    return await window.pass(job, async () => {
      // A client with a limit ends after its next response.
      for (const client of clients) client.responseMax = 1
      await window.until(() => pending === 0)
    })
  } finally {
    run.stop()
    await stopped
  }
}
