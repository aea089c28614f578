import t from 'tap'
import { contender } from '../../bench/plan/contenders.js'
import { load } from '../../bench/report/results.js'
import { checkAnswers } from '../../bench/run/check-answers.js'
import { Progress } from '../../bench/run/progress.js'
import { send, testServer } from './test-server.js'

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

t.test('what is not a saved run is refused, with what to do', async t => {
  t.throws(() => load('never-saved'), { message: /bench\/results\/never-saved.*--from/ })
  for (const content of ['{"name":"a-package"}', '[]', '{"measurements":[{"spec":{}}]}', 'text']) {
    const folder = t.testdir({ 'results.json': content })
    t.throws(() => load(folder), { message: /is not a saved run of this version/ }, content)
  }
})
