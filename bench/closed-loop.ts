import { performance } from 'node:perf_hooks'
import autocannon from 'autocannon'
import type { Expected, NextShot, Shot } from './cases.js'
import type { LoadJob, LoadResult, LoadWatcher } from './load-job.js'
import { LoadWindow } from './load-window.js'

/** What of autocannon's client is used here; its types leave these out. */
interface Client {
  opts: { verifyBody: (body: string) => boolean }
  getRequestBuffer: () => string
  on: (event: 'response', listener: (status: number, bytes: number, milliseconds: number) => void) => void
}

/**
 * autocannon keeps the connections; the requests are ours, handed over as whole texts in place of its request builder
 * (`setupRequest` costs 20 microseconds a request, so that it would measure itself).
 */
export async function closedLoop (job: LoadJob, next: NextShot, watcher: LoadWatcher): Promise<LoadResult> {
  const window = new LoadWindow(job)
  const run = autocannon({
    url: job.target.url,
    method: 'POST',
    connections: job.connections,
    duration: job.warmUp + job.duration + 60,
    sampleInt: 50, // it looks this often whether it should stop
    timeout: 30,
    setupClient (client) { shoot(client as unknown as Client, next, window) }
  } as autocannon.Options, () => {})
  run.on('reqError', (error: Error) => window.fail(error))
  try {
    await window.pass(watcher)
  } finally {
    const stopped = new Promise((resolve) => run.once('done', resolve))
    run.stop?.()
    await stopped
  }
  return window.result()
}

/** autocannon tells of an answer's status first, then asks for the next request, and only then shows the body. */
function shoot (client: Client, next: NextShot, window: LoadWindow): void {
  let sent: Shot | undefined
  let answered: { expected: Expected, status: number, milliseconds: number } | undefined
  client.getRequestBuffer = () => {
    sent = next()
    return sent.text
  }
  client.on('response', (status, _bytes, milliseconds) => {
    if (sent !== undefined) answered = { expected: sent.expected, status, milliseconds }
  })
  client.opts.verifyBody = (body) => {
    if (answered !== undefined) {
      window.answer(answered.expected, answered.status, body, performance.now(), answered.milliseconds)
    }
    return true
  }
}
