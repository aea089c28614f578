import t from 'tap'
import { readOptions, WrongOption } from '../../bench/options.js'
import { plan } from '../../bench/plan.js'
import { specKey } from '../../bench/results.js'

const planned = (...words: string[]): string[] => plan(readOptions(words)).map(specKey)

t.test('the default is every server, latency at equal rates, and how create requests share commits', async t => {
  const keys = planned()
  t.ok(keys.includes('create bare 64 connections'))
  t.ok(keys.includes('latency ours-sqlite 64 connections rate=4000'))
  t.ok(keys.includes('latency express-sqlite 64 connections rate=4000'))
  t.ok(keys.includes('commits ours-sqlite 16 connections'))
  t.notOk(keys.some(key => key.includes('express-mongodb')), 'without a real MongoDB, two servers represent all')
  t.ok(planned('--mongodb', 'mongodb://127.0.0.1').includes('create express-mongodb 64 connections'))
})

t.test('cases, servers and connections are combined; a case ignores servers that do not apply', async t => {
  t.equal(planned('--case', 'create,single', '--servers', 'fastify-sqlite,ours-sqlite', '--connections', '1,512').length, 2 * 2 * 2)
  t.strictSame(planned('--case', 'start,distance', '--servers', 'bare,ours-sqlite,hello', '--connections', '1'), ['start ours-sqlite 1 connection', 'start hello 1 connection'])
  t.strictSame(new Set(plan(readOptions(['--case', 'all'])).map(spec => spec.case)).size, 6)
})

t.test('rates and distances each multiply the measurements of their case', async t => {
  t.strictSame(planned('--case', 'latency', '--servers', 'ours-sqlite,fastify-sqlite', '--rate', '20,10').map(key => key.replace(' 64 connections', '')), [
    'latency ours-sqlite rate=10', 'latency fastify-sqlite rate=10', 'latency ours-sqlite rate=20', 'latency fastify-sqlite rate=20'
  ])
  t.strictSame(planned('--case', 'distance', '--distances', '0,20', '--servers', 'ours-mongodb').map(key => key.split('distance=')[1]), ['0', '20'])
})

t.test('--published measures all cases for longer, latency for 10 s a point, into the folder that is committed', async t => {
  const long = readOptions(['--published'])
  t.match(long, { rounds: 5, seconds: 2, latencyRounds: 3, latencySeconds: 10, save: 'bench/published', isPublished: true })
  t.strictSame(new Set(plan(long).map(spec => spec.case)), new Set(plan(readOptions(['--case', 'all'])).map(spec => spec.case)))
  t.match(readOptions(['--published', '--rounds', '2', '--seconds', '3', '--save', 'here']), { rounds: 2, seconds: 3, latencySeconds: 3, save: 'here' })
  t.match(readOptions([]), { rounds: 3, seconds: 1, latencySeconds: 1, isPublished: false })
})

t.test('--url measures only that service, and --env can be repeated', async t => {
  t.strictSame(planned('--url', 'http://127.0.0.1:1', '--token', 'x', '--rate', '9'), ['create url 64 connections', 'latency url 64 connections rate=9'])
  t.strictSame(readOptions(['--env', 'BODY_LIMIT=2', '--env', 'QUEUE_LIMIT=9']).environment, { BODY_LIMIT: '2', QUEUE_LIMIT: '9' })
})

t.test('invalid options are refused with their names', async t => {
  for (const words of ['--case nonsense', '--servers nginx', '--connections 0', '--rounds 1.5', '--rounds 1,2', '--rate x', '--rate 1,,2', '--env x',
    '--seconds 1,2', '--distances 0.5', '--url http://127.0.0.1:1 --token x --case commits']) {
    t.throws(() => readOptions(words.split(' ')), new WrongOption(), words)
  }
  for (const name of ['case', 'servers', 'connections', 'rounds', 'seconds', 'distances']) t.throws(() => readOptions([`--${name}`, '']), new WrongOption(), `empty --${name}`)
  const url = ['--url', 'http://127.0.0.1:1', '--token', 'x']
  for (const [words, message] of [
    [url.slice(0, 2), '--url and --token must be given together'],
    [url.slice(2), '--url and --token must be given together'],
    [['--url', 'localhost:3000', '--token', 'x'], '--url must begin with http:// or https://, without a user'],
    [['--url', 'nowhere', '--token', 'x'], '--url must begin with http:// or https://, without a user'],
    [['--url', 'http://user:secret@127.0.0.1', '--token', 'x'], '--url must begin with http:// or https://, without a user'],
    [[...url, '--servers', 'bare'], '--servers cannot be used with --url'],
    [['--env', 'foo=bar'], '--env foo=bar: a name has only A-Z, 0-9 and _']
  ] as const) t.throws(() => readOptions(words), { name: 'WrongOption', message })
  t.throws(() => readOptions(['--unknown']), { message: /--unknown/ })
})
