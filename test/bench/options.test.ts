import t from 'tap'
import { specKey } from '../../bench/plan/cases.js'
import { variant } from '../../bench/plan/contenders.js'
import { readOptions } from '../../bench/plan/options.js'
import { plan } from '../../bench/plan/plan.js'

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
  const url = planned('--url', 'http://127.0.0.1:1', '--token', 'x', '--rate', '9')
  t.strictSame(url, ['create url 64 connections', 'latency url 64 connections rate=9'])
  t.equal(new Set(plan(readOptions(['--case', 'all'])).map(spec => spec.case)).size, 6)
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
  const keys = [`create ${name} 64 connections`, `single ${name} 1 connection`]
  t.strictSame(planned('--case', 'create,single', '--servers', name), keys)
  t.match(variant(name), {
    label: `plant-store, SQLite, Node ${process.versions.node}, ACCESS_LOG=true, ${process.cwd().split('/').at(-1)}`,
    node: process.execPath,
    environment: { ACCESS_LOG: 'true' },
    module: /build\/src\/commands\/main\.js$/
  })
})

t.test('the plugin is compared with Fastify itself on each Node, or with the plugin of another build', async t => {
  const price = (...words: string[]): string[] =>
    plan(readOptions(['--case', 'price', ...words])).map(({ server, runtime }) => `${server} in a process ${runtime}`)
  const floors = ['plugin', 'fastify-token', 'fastify', 'bare']
  t.strictSame(price(), floors.map(name => `${name} in a process `))

  const folder = t.testdir({ dist: { 'index.js': '', commands: { 'main.js': '' } } })
  const other = `plugin@${folder}`
  t.strictSame(price('--servers', `plugin,${other}`), ['plugin in a process ', `${other} in a process `])
  t.match(variant(other).module.href, /\/dist\/index\.js$/)
  t.equal(variant(`${other}/dist/commands/main.js`).module.href, variant(other).module.href)
  t.match(variant(`ours-sqlite@${folder}`).module.href, /\/dist\/commands\/main\.js$/)

  // The same Node by its path is enough: it runs in a process of its own.
  const node = `@${process.execPath}`
  const onBoth = ['', node].flatMap(runtime => floors.map(name => `${name}${runtime} in a process ${runtime}`))
  t.strictSame(price('--nodes', process.execPath), onBoth)
  t.strictSame(price('--servers', `plugin,plugin${node}`), onBoth)
})

t.test('--published measures all cases for longer, into the folder that is committed', async t => {
  const long = readOptions(['--published'])
  t.match(long, { rounds: 5, seconds: 2, latencySeconds: 6, save: 'bench/published', isPublished: true })
  t.strictSame(plan(long), plan(readOptions(['--case', 'all', '--distances', '0,5,20'])))
  const shorter = readOptions(['--published', '--rounds', '2', '--seconds', '3', '--save', 'here'])
  t.match(shorter, { rounds: 2, seconds: 3, latencySeconds: 3, save: 'here' })
})

t.test('a run that measures only a part does not replace a full one', async t => {
  for (const { words, save } of [
    { words: '', save: 'latest' },
    { words: '--case all --rounds 5 --seconds 2 --distances 1 --mongodb mongodb://127.0.0.1', save: 'latest' },
    { words: '--url http://127.0.0.1:1 --token x', save: 'url' },
    { words: '--case create', save: 'partial' },
    { words: '--servers bare,ours-sqlite', save: 'partial' },
    { words: '--connections 8', save: 'partial' },
    { words: '--rate 100', save: 'partial' },
    { words: '--rounds 1', save: 'partial' },
    { words: '--seconds 0.5', save: 'partial' },
    { words: '--warm-up 1', save: 'partial' },
    { words: '--published --case price', save: 'partial' },
    { words: '--published --rounds 3', save: 'partial' },
    { words: '--rounds 1 --save here', save: 'here' },
    { words: '--from partial', save: 'partial' }
  ]) t.equal(readOptions(words.split(' ').filter(Boolean)).save, save, words)
})

t.test('invalid options are refused with their names', async t => {
  const together = '--url and --token must be given together'
  const begin = '--url must begin with http:// or https://, without a user'
  for (const { words, message } of [
    { words: '--case nonsense', message: /--case "nonsense" must be one of create, / },
    { words: '--servers nginx', message: /--servers "nginx" must be/ },
    { words: '--servers ours-sqlite@/none.js', message: /^\/none\.js is not a build of plant-store/ },
    { words: '--servers bare@/bin/false', message: /^\/bin\/false is not a program of Node\.js/ },
    { words: '--nodes /bin/false', message: /^\/bin\/false is not a program of Node\.js/ },
    { words: '--connections 0', message: '--connections "0" must be an integer of 1 or more' },
    { words: '--rounds 1.5', message: /--rounds/ },
    { words: '--rate 1,,2', message: '--rate "" must be an integer of 1 or more' },
    { words: '--seconds 1,2', message: /must be a number of 0.1/ },
    { words: '--distances 0.5', message: /--distances/ },
    { words: '--url http://127.0.0.1:1', message: together },
    { words: '--token x', message: together },
    { words: '--url localhost:3000 --token x', message: begin },
    { words: '--url http://user:secret@127.0.0.1 --token x', message: begin },
    { words: '--published --url http://127.0.0.1:1 --token x', message: /leave out --url/ },
    { words: '--unknown', message: /--unknown/ }
  ]) t.throws(() => readOptions(words.split(' ')), { name: 'TypeError', message }, words)
})
