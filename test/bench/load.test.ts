import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { closedLoop } from '../../bench/load/closed-loop.js'
import type { LoadJob } from '../../bench/load/measurement-window.js'
import { oneByOne } from '../../bench/load/one-by-one.js'
import { openLoop } from '../../bench/load/open-loop.js'
import { checkAnswer, createRequests } from '../../bench/load/requests.js'
import { jsonServerApi, plantApi, pocketBaseApi } from '../../bench/plan/apis.js'
import { contender } from '../../bench/plan/contenders.js'
import { checkAnswers } from '../../bench/run/check-answers.js'
import { runSteps } from '../../bench/run/steps.js'

const jobFor = (url: string, more: Partial<LoadJob> = {}): LoadJob =>
  ({ url, token: 'a-token-for-the-bench', connections: 4, leadIn: 0.05, duration: 0.05, ...more })

const sends = (status: number, body: string) => (response: ServerResponse) =>
  response.writeHead(status, { 'content-length': Buffer.byteLength(body) }).end(body)

/** Sends the correct response to a request, after some milliseconds. */
function accept (response: ServerResponse, request: string, delay: number): void {
  const { name, tag } = JSON.parse(request)
  setTimeout(() => sends(200, JSON.stringify({ name, tag }))(response), delay)
}

/** A server whose responses are sent by the test; closed after the test. */
async function testServer (t: Test, answer: (body: string, response: ServerResponse) => void): Promise<string> {
  const server = createServer(async (request, response) => answer(await text(request), response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const loops = [{ name: 'closed', run: closedLoop }, { name: 'open', run: (job: LoadJob) => openLoop(job, 200) }]
const faults = [
  { what: 'an unexpected status', answer: sends(503, '{}'), message: /status 503 .* expected 200/ },
  { what: 'a wrong body', answer: sends(200, '{"name":"another"}'), message: /"another"/ },
  {
    what: 'a closed connection',
    answer: ({ socket }: ServerResponse) => socket?.end(),
    message: /closed a connection|ECONNRESET/
  },
  {
    what: 'a connection that is closed after the measured time, in the middle of a request,',
    answer: ({ socket }: ServerResponse) => setTimeout(() => socket?.end(), 140),
    message: /closed a connection|ECONNRESET/
  },
  { what: 'a request without a response', answer: () => {}, message: 'a request had no response for 0.2 s' }
]

for (const { name, run } of loops) {
  for (const { what, answer, message } of faults) {
    t.test(`${what} fails a run of the ${name} loop`, async t => {
      let requests = 0
      const url = await testServer(t, (request, response) => {
        if (++requests === 3) answer(response)
        else accept(response, request, 5)
      })
      await t.rejects(run(jobFor(url, { patience: 200 })), { message })
    })
  }

  t.test(`a refused connection fails a run of the ${name} loop`, async t => {
    await t.rejects(run(jobFor('http://127.0.0.1:1')), { message: /ECONNREFUSED/ })
  })

  t.test(`the ${name} loop does not need a connection any more that the server closes at the end`, async t => {
    const responses: ServerResponse[] = []
    const closing = setTimeout(() => {
      for (const { req, writableEnded } of responses) if (writableEnded) req.socket.end()
    }, 2_000)
    const url = await testServer(t, (request, response) => {
      closing.refresh() // until no request has come for a while
      accept(response, request, responses.push(response) === 3 ? 4_000 : 5)
    })
    await t.resolves(run(jobFor(url)))
  })

  t.test(`the ${name} loop measures a known delay, and every request that it has sent is acknowledged`, async t => {
    let requests = 0
    const url = await testServer(t, (request, response) => {
      requests++
      accept(response, request, 100)
    })
    const { p50, perSecond, acknowledged } = await run(jobFor(url, { connections: 8, duration: 0.5 }))
    t.equal(acknowledged, requests)
    t.ok(Number(p50) >= 99_000 && Number(p50) < 1_000_000, `p50 ${p50}`)
    t.ok(perSecond > 4 && perSecond <= 96 && acknowledged >= perSecond / 2, `${perSecond} a second of ${acknowledged}`)
  })
}

t.test('a stall shows in all requests that an open loop delays, in one per connection of a closed loop', async t => {
  let stallEndsAt = 0
  let stalled = 0
  const url = await testServer(t, (request, response) => {
    // From 0.2 s on, the server does not respond for half a second.
    stallEndsAt ||= Date.now() + 700
    const wait = Date.now() > stallEndsAt - 500 ? Math.max(0, stallEndsAt - Date.now()) : 0
    if (wait > 50) stalled++
    accept(response, request, Math.max(5, wait))
  })
  const open = await openLoop(jobFor(url, { duration: 1 }), 200)
  t.ok(Number(open.p99) > 450_000 && Number(open.p50) > 20_000, `open loop: p50 ${open.p50}, p99 ${open.p99}`)
  stallEndsAt = stalled = 0
  const closed = await closedLoop(jobFor(url, { duration: 1 }))
  t.equal(stalled, 4, 'closed loop: one request for each connection')
  t.ok(
    Number(closed.max) > 300_000 && Number(closed.p50) < 300_000, `closed loop: p50 ${closed.p50}, max ${closed.max}`
  )
})

t.test('in the open loop, a request that could not start counts with the time it has waited', async t => {
  const url = await testServer(t, (request, response) => accept(response, request, 1500))
  const { p50, acknowledged } = await openLoop(jobFor(url, { duration: 0.2 }), 100)
  t.equal(acknowledged, 4)
  t.ok(Number(p50) > 1_000_000, `p50 ${p50}`)
})

t.test('one request after another: as many as are wanted, until one is late or the connection is closed', async t => {
  let requests = 0
  const counting = await testServer(t, (request, response) => {
    requests++
    accept(response, request, 5)
  })
  const { p50, ...figures } = await oneByOne(jobFor(counting, { duration: 60 }), 3)
  t.match(figures, { acknowledged: 3, keptUp: true })
  t.equal(requests, 3)
  t.ok(Number(p50) >= 4_000, `p50 ${p50}`)

  const third = (fault: (response: ServerResponse) => void) => testServer(t, (request, response) => {
    if (++requests % 3 === 0) fault(response)
    else accept(response, request, 0)
  })
  const job = { duration: 60, patience: 100 }
  t.strictSame(await oneByOne(jobFor(await third(() => {}), job), 5), { acknowledged: 2, keptUp: false })
  requests = 0
  const closing = await third(({ socket }) => socket?.end())
  await t.rejects(oneByOne(jobFor(closing, job), 5), { message: /closed a connection/ })
  requests = 0
  await t.rejects(oneByOne(jobFor(await third(sends(503, '{}')), job), 5), { message: /status 503/ })
})

t.test('the status of a created plant is right for its own server only', async t => {
  const apis = [plantApi, pocketBaseApi, jsonServerApi]
  for (const api of apis) {
    const shot = createRequests('http://127.0.0.1', 'x', api)()
    const [, body = '', id = ''] = /(\{"id":(\d+).*)$/.exec(shot.text) ?? []
    const { name, tag } = JSON.parse(body)
    const answer = api.created({ name, tag }).replace('ID', id)
    t.doesNotThrow(() => checkAnswer(shot, api.statuses.created, answer))
    for (const status of [200, 201, 204].filter(other => other !== api.statuses.created)) {
      t.throws(() => checkAnswer(shot, status, answer), { message: new RegExp(`status ${status}`) })
    }
  }
})

t.test('a service with wrong responses is not measured', async t => {
  const url = await testServer(t, (_request, response) => sends(418, '{}')(response))
  const message = /the service at --url responds incorrectly.*status 418/
  await t.rejects(checkAnswers(contender('url'), url, 'x'), { message })
})

t.test('each step is shown with the time left, and named if it fails', async t => {
  const lines: string[] = []
  t.intercept(process.stderr, 'write', { value: (line: string) => lines.push(line) > 0 })
  const run = async (): Promise<void> => {}
  const fails = async (): Promise<void> => { throw new Error('no server') }
  const steps = [{ what: 'the first', seconds: 50, run }, { what: 'the last', seconds: 150, run: fails }]
  await t.rejects(runSteps(steps), { message: 'the last: no server' })
  t.strictSame(lines, ['3 min 20 s left: the first\n', '10 s left: the last\n'])
})
