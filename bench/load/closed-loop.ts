import { performance } from 'node:perf_hooks'
import autocannon from 'autocannon'
import type { Shot } from './requests.js'
import type { LoadJob, LoadResult, Window } from './window.js'

declare module 'autocannon' {
  /** Members that are missing from autocannon's types. */
  interface Client {
    opts: { verifyBody: (body: string) => boolean }
    getRequestBuffer: () => string
    responseMax?: number
  }
}

/**
 * A closed loop, by autocannon: each connection sends its next request after the response to the last one. Requests are
 * complete strings: autocannon's `setupRequest` doubles its cost, which matters if it shares two cores with the server.
 */
export async function closedLoop (job: LoadJob, window: Window, next: () => Shot): Promise<LoadResult> {
  const clients: autocannon.Client[] = []
  let pending = 0
  const options = {
    url: job.url,
    method: 'POST',
    connections: job.connections,
    duration: job.leadIn + job.duration + 60,
    sampleInt: 50, // milliseconds between checks for a stop
    timeout: 30,
    setupClient (client) {
      let sent: Shot | undefined
      let sentAt = 0
      let finish: (body: string) => void = () => {}
      clients.push(client)
      client.getRequestBuffer = () => {
        // autocannon reconnects, and sends the next request as if this one had not been sent.
        if (sent !== undefined) window.fail(new Error('the server closed a connection'))
        sentAt = performance.now()
        sent = next()
        pending++
        return sent.text
      }
      // autocannon reports the status, then asks for the next request, and only then returns the body.
      client.on('response', status => {
        const [shot, since] = [sent, sentAt]
        sent = undefined
        finish = body => {
          pending--
          if (shot !== undefined) window.answer(shot, status, body, since)
        }
      })
      client.opts.verifyBody = body => {
        finish(body)
        return true
      }
    }
  } satisfies autocannon.Options & { sampleInt: number }
  const run = autocannon(options, () => {})
  const stopped = new Promise(resolve => run.once('done', resolve))
  run.on('reqError', window.fail)

  try {
    return await window.pass(async () => {
      // A client with a limit ends after its next response.
      for (const client of clients) client.responseMax = 1
      await window.until(() => pending === 0)
    })
  } finally {
    run.stop?.()
    await stopped
  }
}
