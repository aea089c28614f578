import t from 'tap'
import { variant } from '../../bench/contenders.js'
import { readOptions } from '../../bench/options.js'
import { plan } from '../../bench/plan.js'
import { specKey } from '../../bench/results.js'

const planned = (...words: string[]): string[] => plan(readOptions(words)).map(specKey)

t.test('the default is every server, latency at equal rates, and how create requests share commits', async t => {
  const keys = planned()
  t.ok(keys.includes('create bare 64 connections'))
  t.ok(keys.includes('create fastify-token 64 connections'))
  t.ok(keys.includes('latency express-sqlite 64 connections rate=4000'))
  t.ok(keys.includes('commits ours-sqlite 16 connections'))
  t.notOk(keys.some(key => key.includes('express-mongodb')), 'without a real MongoDB, Fastify represents all peers')
  t.ok(planned('--mongodb', 'mongodb://127.0.0.1').includes('create express-mongodb 64 connections'))
})

t.test('cases, servers and connections are combined; a case ignores servers that do not apply', async t => {
  const servers = ['--servers', 'fastify-sqlite,ours-sqlite']
  t.equal(planned('--case', 'create,single', ...servers, '--connections', '1,512').length, 2 * 2 * 2)
  t.strictSame(planned('--case', 'single', '--servers', 'bare,ours-sqlite'), ['single ours-sqlite 1 connection'])
  t.strictSame(planned('--url', 'http://127.0.0.1:1', '--token', 'x', '--rate', '9'), ['create url 64 connections', 'latency url 64 connections rate=9'])
  t.equal(new Set(plan(readOptions(['--case', 'all'])).map(spec => spec.case)).size, 5)
})

t.test('rates and distances each multiply the measurements of their case', async t => {
  const latency = planned('--case', 'latency', '--servers', 'ours-sqlite,fastify-sqlite', '--rate', '20,10')
  t.strictSame(latency.map(key => key.replace('latency ', '').replace(' 64 connections', '')), [
    'ours-sqlite rate=10', 'fastify-sqlite rate=10', 'ours-sqlite rate=20', 'fastify-sqlite rate=20'
  ])
  const distance = planned('--case', 'distance', '--distances', '0,20')
  t.strictSame(distance.map(key => key.replace('distance ', '').replace(' 512 connections', '')), [
    'ours-mongodb distance=0', 'ours-mongodb distance=20', 'group-mongodb distance=0', 'group-mongodb distance=20',
    'fastify-mongodb distance=0', 'fastify-mongodb distance=20'
  ])
})

t.test('a server is also measured with another Node, another build, or a variable', async t => {
  const name = `ours-sqlite@${process.execPath}@ACCESS_LOG=true@build/src/commands/main.js`
  t.strictSame(planned('--case', 'create,single', '--servers', name), [`create ${name} 64 connections`, `single ${name} 1 connection`])
  t.match(variant(name), {
    label: `plant-store, SQLite, Node ${process.versions.node}, ACCESS_LOG=true, ${process.cwd().split('/').at(-1)}`,
    node: process.execPath,
    environment: { ACCESS_LOG: 'true' },
    module: /build\/src\/commands\/main\.js$/
  })
})

t.test('--published measures all cases for longer, into the folder that is committed', async t => {
  const long = readOptions(['--published'])
  t.match(long, { rounds: 5, seconds: 2, latencySeconds: 10, save: 'bench/published', isPublished: true })
  t.strictSame(plan(long), plan(readOptions(['--case', 'all'])))
  t.match(readOptions(['--published', '--rounds', '2', '--seconds', '3', '--save', 'here']), { rounds: 2, seconds: 3, latencySeconds: 3, save: 'here' })
})

t.test('invalid options are refused with their names', async t => {
  for (const [words, message] of [
    ['--case nonsense', /--case "nonsense" must be one of create, /],
    ['--servers nginx', /--servers "nginx" must be/],
    ['--servers ours-sqlite@/none.js', '/none.js is not a build of plant-store'],
    ['--servers bare@/bin/false', '/bin/false is not a program of Node.js'],
    ['--connections 0', '--connections "0" must be an integer of 1 or more'],
    ['--rounds 1.5', /--rounds/], ['--rate 1,,2', '--rate "" must be an integer of 1 or more'],
    ['--seconds 1,2', /must be a number of 0.1/], ['--distances 0.5', /--distances/],
    ['--url http://127.0.0.1:1', '--url and --token must be given together'],
    ['--token x', '--url and --token must be given together'],
    ['--url localhost:3000 --token x', '--url must begin with http:// or https://, without a user'],
    ['--url http://user:secret@127.0.0.1 --token x', '--url must begin with http:// or https://, without a user'],
    ['--unknown', /--unknown/]
  ] as const) t.throws(() => readOptions(words.split(' ')), { name: 'TypeError', message }, words)
})
