import t from 'tap'
import { checkAnswer, createRequests, growingIds } from '../../bench/load/requests.js'

t.test('requests are complete, with distinct plants and the expected answer to each', async t => {
  const next = createRequests('http://127.0.0.1:3000/v1', 'a-token-for-the-bench')
  const ids = new Set<number>()
  for (let turn = 0; turn < 50; turn++) {
    const { text, ...expected } = next()
    const [head = '', body = ''] = text.split('\r\n\r\n')
    const { id, ...plant } = JSON.parse(body)
    ids.add(id)
    t.match(head, /^POST \/v1\/plants HTTP\/1\.1\r\nHost: 127\.0\.0\.1:3000\r\nAuthorization: Bearer a-token-for-the-bench\r\n/)
    t.equal(Number(/Content-Length: (\d+)/.exec(head)?.[1]), Buffer.byteLength(body))
    t.strictSame(expected, { status: 200, body: JSON.stringify(plant) })
  }
  t.equal(ids.size, 50)
})

t.test('ids are distinct, have 16 digits, and are exact in JSON.parse', async t => {
  const some = Array.from({ length: 1000 }, growingIds())
  t.equal(new Set(some).size, 1000)
  t.ok(some.every(id => id.length === 16 && Number.isSafeInteger(Number(id))))
})

t.test('an answer must have the expected status and body', async t => {
  const expected = { status: 200, body: '{"name":"Aloe","tag":"a"}' }
  checkAnswer(expected, 200, expected.body)
  t.throws(() => checkAnswer(expected, 201, expected.body))
  t.throws(() => checkAnswer(expected, 200, '{"tag":"a"}'))
  t.throws(() => checkAnswer(expected, 200, 'not JSON'))
  t.throws(() => checkAnswer({ status: 400, body: /"error":40003\b/ }, 400, '{"error":400031}'))
})
