import t from 'tap'
import { runLoad } from '../../bench/run-load.js'
import type { LoadJob } from '../../bench/load-job.js'
import { jobFor, nobody, plantOf, send, testServer } from './test-server.js'

const delay = 40
const loops: Array<[string, Partial<LoadJob>]> = [
  ['a closed loop by autocannon', { generator: 'autocannon' }],
  ['a closed loop by the lean generator', { generator: 'lean' }],
  ['an open loop', { rate: 50 }]
]

for (const [name, how] of loops) {
  t.test(`${name} measures a known delay truly`, async (t) => {
    const { url } = await testServer(t, (body, response) => {
      setTimeout(() => send(response, 200, plantOf(body)), delay)
    })
    const { latency, answers, seconds } = await runLoad(jobFor(url, { duration: 0.6, ...how }), nobody)
    // A timer's delay is never much under, and over it only by what a busy machine adds.
    t.ok(latency.p50 >= (delay - 1) * 1000, `p50 ${latency.p50}`)
    t.ok(latency.p50 < (delay + 20) * 1000, `p50 ${latency.p50}`)
    t.ok(latency.max >= latency.p99 && latency.p99 >= latency.p50, 'percentiles in order')
    const most = how.rate ?? 4 * 1000 / delay
    t.ok(answers / seconds <= most * 1.1, `${answers} answers`)
    t.ok(answers / seconds >= most * 0.5, `${answers} answers`)
  })
}

t.test('an open loop keeps its rate and shows a stall in every start that it delayed', async (t) => {
  const stall = 500
  let stalled = false
  let stallEndsAt = 0
  const { url } = await testServer(t, (body, response) => {
    if (!stalled) {
      stalled = true
      // After the warm-up; then nothing is answered for half a second.
      setTimeout(() => { stallEndsAt = Date.now() + stall }, 300)
    }
    setTimeout(() => send(response, 200, plantOf(body)), Math.max(0, stallEndsAt - Date.now()))
  })
  const { latency, answers, unanswered } = await runLoad(jobFor(url, { rate: 200, connections: 4, duration: 1.5 }), nobody)
  t.equal(unanswered, 0)
  t.ok(Math.abs(answers - 300) <= 2, `all 300 starts counted: ${answers}`)
  // A third of the starts fell into the stall, and waited from 500 ms down to none. A closed loop sees four of them.
  t.ok(latency.max > (stall - 30) * 1000, `max ${latency.max}`)
  t.ok(latency.p90 > 200_000, `p90 ${latency.p90}`)
  t.ok(latency.p50 < 50_000, `p50 ${latency.p50}`)
})

t.test('a closed loop hardly shows the same stall, which is why there is an open one', async (t) => {
  let stallEndsAt = 0
  const { url } = await testServer(t, (body, response) => {
    stallEndsAt ||= Date.now() + 500
    const now = Date.now()
    const until = now > stallEndsAt - 300 && now < stallEndsAt ? stallEndsAt - now : 0
    setTimeout(() => send(response, 200, plantOf(body)), until)
  })
  const { latency } = await runLoad(jobFor(url, { duration: 0.8 }), nobody)
  t.ok(latency.max > 200_000, `max ${latency.max}`)
  t.ok(latency.p90 < 100_000, `p90 ${latency.p90}`)
})

t.test('an open loop counts the starts of a server that never answers, with their age', async (t) => {
  let requests = 0
  const { url } = await testServer(t, (body, response) => {
    if (requests++ < 20) send(response, 200, plantOf(body))
  })
  const { latency, answers, unanswered } = await runLoad(jobFor(url, { rate: 100, duration: 0.5, drain: 0.5 }), nobody)
  t.ok(unanswered > 30, `${unanswered} unanswered`)
  t.ok(answers + unanswered >= 49, `${answers} + ${unanswered}`)
  t.ok(latency.max > 500_000, `max ${latency.max}`)
})
