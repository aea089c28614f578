import t from 'tap'
import { checkAnswer, UnexpectedAnswer } from '../../bench/check-answer.js'
import { runLoad } from '../../bench/run-load.js'
import { forkedLoad } from '../../bench/forked-load.js'
import { jobFor, nobody, plantOf, send, testServer } from './test-server.js'
import type { LoadJob } from '../../bench/load-job.js'

const loops: Array<[string, Partial<LoadJob>]> = [['autocannon', {}], ['lean', { generator: 'lean' }], ['open', { rate: 200 }]]

for (const [name, how] of loops) {
  t.test(`one unexpected status fails a run (${name})`, async (t) => {
    let requests = 0
    const { url } = await testServer(t, (body, response) => {
      send(response, ++requests === 60 ? 503 : 200, plantOf(body))
    })
    await t.rejects(runLoad(jobFor(url, how), nobody), { message: /status 503 where 200 was expected/ })
  })

  t.test(`one wrong body fails a run (${name})`, async (t) => {
    let requests = 0
    const { url } = await testServer(t, (body, response) => {
      send(response, 200, ++requests === 60 ? '{"name":"another plant"}' : plantOf(body))
    })
    await t.rejects(runLoad(jobFor(url, how), nobody), { message: /wrong body: {"name":"another plant"}/ })
  })

  t.test(`a refused connection fails a run (${name})`, async (t) => {
    const { url, server } = await testServer(t, () => {})
    server.close()
    await t.rejects(runLoad(jobFor(url, how), nobody), { message: /ECONNREFUSED/ })
  })
}

t.test('a connection that the server cuts fails a run', async (t) => {
  let requests = 0
  const { url } = await testServer(t, (body, response) => {
    if (++requests === 60) response.socket?.destroy()
    else send(response, 200, plantOf(body))
  })
  await t.rejects(runLoad(jobFor(url, { generator: 'lean' }), nobody), { message: /closed a connection|ECONNRESET/ })
})

t.test('the load process passes the failure on, and the figures', async (t) => {
  let status = 200
  const { url } = await testServer(t, (body, response) => send(response, status, plantOf(body)))
  const edges: string[] = []
  const watcher = { opened () { edges.push('opened') }, closed () { edges.push('closed') } }
  const first = forkedLoad()
  const second = forkedLoad()
  t.teardown(async () => { await Promise.all([first.stop(), second.stop()]) })
  const { answers, acknowledged } = await first.run(jobFor(url), watcher)
  t.ok(answers > 0 && acknowledged >= answers, `${answers} of ${acknowledged}`)
  t.strictSame(edges, ['opened', 'closed'])
  status = 500
  await t.rejects(second.run(jobFor(url)), { message: /status 500/ })
})

t.test('the order of an answer\'s fields is free, its values are not', async (t) => {
  const expected = { status: 200, reply: '{"name":"Aloe","tag":"a"}' }
  checkAnswer(expected, 200, '{"tag":"a", "name":"Aloe"}')
  t.throws(() => checkAnswer(expected, 200, '{"tag":"a"}'), UnexpectedAnswer)
  t.throws(() => checkAnswer(expected, 200, 'no JSON'), UnexpectedAnswer)
  t.throws(() => checkAnswer({ status: 400, reply: /"error":40003\b/ }, 400, '{"error":400031}'), UnexpectedAnswer)
})
