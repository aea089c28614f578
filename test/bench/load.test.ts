import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import t from 'tap'
import { createRequests } from '../../bench/load/requests.js'
import { runLoad } from '../../bench/load/run-load.js'
import { contender } from '../../bench/plan/contenders.js'
import { checkAnswers } from '../../bench/run/check-answers.js'
import { Progress } from '../../bench/run/progress.js'
import { startProcess } from '../../bench/run/start-process.js'
import { jobFor, plantOf, send, testServer } from './test-server.js'

const loops = [{ name: 'closed', how: {}, slow: {} }, { name: 'open', how: { rate: 200 }, slow: { rate: 20 } }]
const wrongAnswers = [
  { what: 'unexpected status', status: 503, wrong: undefined, message: /status 503 .* expected 200/ },
  { what: 'wrong body', status: 200, wrong: '{"name":"another plant"}', message: /"another plant"/ }
]

// Runs that must fail may last up to 20 s, as less may be too short for 60 requests on a busy machine.
for (const { name, how, slow } of loops) {
  for (const { what, status, wrong, message } of wrongAnswers) {
    t.test(`one ${what} fails a run of the ${name} loop`, async t => {
      let requests = 0
      const url = await testServer(t, (sent, response) => {
        if (++requests === 60) send(response, status, wrong ?? plantOf(sent))
        else send(response, 200, plantOf(sent))
      })
      await t.rejects(runLoad(jobFor(url, { ...how, duration: 20 })), { message })
    })
  }

  t.test(`a refused connection fails a run of the ${name} loop`, async t => {
    await t.rejects(runLoad(jobFor('http://127.0.0.1:1', how)), { message: /ECONNREFUSED/ })
  })

  t.test(`a connection closed by the server instead of a response fails a run of the ${name} loop`, async t => {
    let requests = 0
    const url = await testServer(t, (body, response) => {
      if (++requests === 60) response.socket?.end()
      else send(response, 200, plantOf(body))
    })
    await t.rejects(runLoad(jobFor(url, { ...how, duration: 20 })), { message: /closed a connection|ECONNRESET/ })
  })

  t.test(`every request that the ${name} loop has sent is acknowledged in the end`, async t => {
    let requests = 0
    const url = await testServer(t, (body, response) => {
      requests++
      setTimeout(() => send(response, 200, plantOf(body)), 50)
    })
    const { acknowledged } = await runLoad(jobFor(url, { ...how, connections: 8 }))
    t.equal(acknowledged, requests)
  })

  t.test(`the ${name} loop measures a known delay`, async t => {
    const url = await testServer(t, (body, response) => {
      setTimeout(() => send(response, 200, plantOf(body)), 100)
    })
    const { latency, perSecond, acknowledged } = await runLoad(jobFor(url, { duration: 1, ...slow }))
    t.ok(latency !== undefined && latency.p50 >= 99_000 && latency.p50 < 600_000, `p50 ${latency?.p50}`)
    t.ok(perSecond > 4 && perSecond <= 44 && acknowledged >= perSecond, `${perSecond} answers of ${acknowledged}`)
  })
}

t.test('a stall shows in every request that an open loop delays, but in one of each connection of a closed loop', async t => {
  let stallEndsAt = 0
  let stalled = 0
  const url = await testServer(t, (body, response) => {
    // From 0.4 s on, the server does not respond for a second.
    stallEndsAt ||= Date.now() + 1400
    const until = Date.now() > stallEndsAt - 1000 ? stallEndsAt - Date.now() : 0
    if (until > 100) stalled++
    setTimeout(() => send(response, 200, plantOf(body)), Math.max(0, until))
  })
  const { latency: open } = await runLoad(jobFor(url, { rate: 200, duration: 2 }))
  t.ok(open !== undefined && open.p50 < open.p99 && open.p99 > 900_000, `open loop: p99 ${open?.p99}`)
  stallEndsAt = stalled = 0
  const { latency: closed } = await runLoad(jobFor(url, { duration: 2 }))
  t.equal(stalled, 4, 'closed loop: one request for each connection')
  const isOnlySlowAtMost = closed !== undefined && closed.max > 500_000 && closed.p50 < 500_000
  t.ok(isOnlySlowAtMost, `closed loop: p50 ${closed?.p50}, max ${closed?.max}`)
})

t.test('a request without a response fails a run', async t => {
  let requests = 0
  const url = await testServer(t, (body, response) => {
    if (++requests !== 60) send(response, 200, plantOf(body))
  })
  await t.rejects(runLoad(jobFor(url, { patience: 500 })), { message: 'a request had no response for 0.5 s' })
})

t.test('in the open loop, a request that could not start counts with the time it has waited', async t => {
  const url = await testServer(t, (body, response) => {
    setTimeout(() => send(response, 200, plantOf(body)), 2500)
  })
  const { latency, acknowledged } = await runLoad(jobFor(url, { rate: 100, duration: 0.5 }))
  t.equal(acknowledged, 4)
  t.ok(latency !== undefined && latency.p50 > 1_000_000, `p50 ${latency?.p50}`)
})

t.test('requests are complete, with distinct plants and the expected answer to each', async t => {
  const next = createRequests('http://127.0.0.1:3000/v1', 'a-token-for-the-bench')
  const ids = new Set<number>()
  for (let turn = 0; turn < 50; turn++) {
    const { text, ...expected } = next()
    const [head = '', body = ''] = text.split('\r\n\r\n')
    const { id, ...plant } = JSON.parse(body)
    ids.add(id)
    t.match(head, /^POST \/v1\/plants HTTP\/1\.1\r\nHost: 127\.0\.0\.1:3000\r\n/)
    t.match(head, /\r\nAuthorization: Bearer a-token-for-the-bench\r\n/)
    t.equal(Number(/Content-Length: (\d+)/.exec(head)?.[1]), Buffer.byteLength(body))
    t.strictSame(expected, { status: 200, body: JSON.stringify(plant) })
  }
  t.equal(ids.size, 50)
})

t.test('the proxy adds the distance to each round trip', async t => {
  const server = createServer(socket => { socket.pipe(socket) }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? `${address?.port}` : ''
  for (const milliseconds of [0, 20]) {
    const program = new URL('../../bench/mongodb/delaying-proxy.js', import.meta.url)
    const proxy = await startProcess(program, {
      words: ['127.0.0.1', port, `${milliseconds}`],
      logFile: join(t.testdir(), 'proxy.log')
    })
    const socket = connect({ port: Number(new URL(proxy.address).port), host: '127.0.0.1', noDelay: true })
    const times: number[] = []
    for (let turn = 0; turn < 15; turn++) {
      const start = performance.now()
      socket.write('ping')
      await once(socket, 'data')
      times.push(performance.now() - start)
    }
    socket.destroy()
    await proxy.stop()
    const median = times.sort((a, b) => a - b)[7] ?? 0
    t.ok(median >= milliseconds - 1 && median < milliseconds + 500, `${median}`)
  }
})

t.test('a service with wrong responses is not measured', async t => {
  const url = await testServer(t, (_body, response) => send(response, 418, '{}'))
  const message = /the service at --url responds incorrectly.*status 418/
  await t.rejects(checkAnswers(contender('url'), url, 'x'), { message })
})

t.test('the time that is left follows from how long the steps so far took', async t => {
  let now = 0
  const lines: string[] = []
  const terminal = { write: (line: string) => lines.push(line) > 0 }
  const progress = new Progress(200, 4, terminal, () => now)
  progress.begin('the first', 50)
  now = 50_000
  progress.begin('the second', 50)
  now = 150_000
  progress.begin('the third', 50)
  now = 190_000
  progress.begin('the last', 50)
  t.strictSame(lines, [
    '1/4, 3 min 20 s left: the first\n',
    '2/4, 2 min 30 s left: the second\n',
    '3/4, 2 min 30 s left: the third\n',
    '4/4, 1 min 10 s left: the last\n'
  ])
})

t.test('on a terminal, the line is replaced, and fits', async t => {
  const lines: string[] = []
  const terminal = { write: (line: string) => lines.push(line) > 0, isTTY: true, columns: 20 }
  new Progress(20, 1, terminal, () => 0).begin('a server with a long name', 20)
  t.strictSame(lines, ['\r\u001b[K1/1, 20 s left: a s'])
})
