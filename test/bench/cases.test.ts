import t from 'tap'
import { caseNames, nextShot } from '../../bench/cases.js'
import { bigIds, growingIds, randomIds } from '../../bench/plant-ids.js'

const target = { url: 'http://127.0.0.1:3000/v1', token: 'a-token-for-the-bench', takesSameAgain: true, hasErrorCodes: true }

for (const name of caseNames) {
  t.test(`${name}: every request is whole, its Content-Length true`, async (t) => {
    const next = nextShot(name, target)
    for (let turn = 0; turn < 20; turn++) {
      const { text } = next()
      const [head = '', body = ''] = text.split('\r\n\r\n')
      t.match(head, /^POST \/v1\/plants HTTP\/1\.1\r\nHost: 127\.0\.0\.1:3000\r\n/)
      t.equal(Number(/Content-Length: (\d+)/.exec(head)?.[1]), Buffer.byteLength(body))
    }
  })
}

t.test('create: distinct plants, the answer each deserves, the token in each', async (t) => {
  const next = nextShot('create', target, 'random')
  const ids = new Set<number>()
  for (let turn = 0; turn < 50; turn++) {
    const { text, expected } = next()
    const [head = '', body = ''] = text.split('\r\n\r\n')
    const { id, ...plant } = JSON.parse(body)
    ids.add(id)
    t.match(head, /\r\nAuthorization: Bearer a-token-for-the-bench\r\n/)
    t.strictSame(expected, { status: 200, reply: JSON.stringify(plant) })
  }
  t.equal(ids.size, 50)
})

t.test('no-token: without Authorization, 401 expected', async (t) => {
  const { text, expected } = nextShot('no-token', target)()
  t.notMatch(text, /authorization/i)
  t.equal(expected.status, 401)
})

t.test('same: after one pass the very same plants again', async (t) => {
  const next = nextShot('same', target)
  const first = Array.from({ length: 512 }, next)
  t.equal(new Set(first.map(({ text }) => text)).size, 512)
  t.equal(next().text, first[0]?.text)
})

t.test('mix: of 20 one invalid, one without a token, and one again only where the server takes it', async (t) => {
  const count = (takesSameAgain: boolean): Record<number, number> => {
    const next = nextShot('mix', { ...target, takesSameAgain })
    const statuses = Array.from({ length: 200 }, () => next().expected.status)
    return { 200: statuses.filter((one) => one === 200).length, 400: statuses.filter((one) => one === 400).length, 401: statuses.filter((one) => one === 401).length }
  }
  t.strictSame(count(true), { 200: 180, 400: 10, 401: 10 })
  t.strictSame(count(false), { 200: 180, 400: 10, 401: 10 })
})

t.test('ids: of constant length, distinct; small ones exact in JSON.parse, big ones beyond 2^53 and within int64', async (t) => {
  for (const [make, digits] of [[growingIds, 16], [randomIds, 16], [bigIds, 19]] as const) {
    const next = make()
    const ids = Array.from({ length: 1000 }, next)
    t.equal(new Set(ids).size, 1000)
    t.ok(ids.every((id) => id.length === digits))
    t.ok(ids.every((id) => BigInt(id) < 2n ** 63n))
    t.ok(ids.every((id) => Number.isSafeInteger(Number(id)) === (digits === 16)))
  }
})
