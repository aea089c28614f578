import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { specKey } from '../../bench/plan/cases.js'
import { variant } from '../../bench/plan/contenders.js'
import { readOptions } from '../../bench/plan/options.js'
import { plan } from '../../bench/plan/plan.js'

const planned = (words = ''): string[] => plan(readOptions(words.split(' ').filter(Boolean))).map(specKey)

t.test('the default is every server, latency at equal rates, and how create requests share commits', async t => {
  const keys = planned().join('\n')
  t.match(keys, /create bare 64 connections\n[^]*latency express-sqlite 64 connections rate=4000\n[^]*commits/)
  t.notMatch(keys, 'express-mongodb', 'without a real MongoDB, Fastify represents all peers')
  t.ok(planned('--mongodb mongodb://127.0.0.1').includes('create express-mongodb 64 connections'))
})

t.test('cases, servers, connections, rates and distances are combined, where they apply', async t => {
  t.strictSame(planned('--case create,single --servers bare,ours-sqlite --connections 1,8'), [
    'create bare 1 connection', 'create bare 8 connections', 'create ours-sqlite 1 connection',
    'create ours-sqlite 8 connections', 'single ours-sqlite 1 connection', 'single ours-sqlite 8 connections'
  ])
  t.strictSame(planned('--case latency --servers ours-sqlite,fastify-sqlite --rate 20,10 --connections 1'),
    [20, 10].flatMap(rate => ['ours', 'fastify'].map(name => `latency ${name}-sqlite 1 connection rate=${rate}`)))
  t.strictSame(planned('--case distance --servers ours-mongodb --distances 0,20 --connections 1'),
    ['distance ours-mongodb 1 connection distance=0', 'distance ours-mongodb 1 connection distance=20'])
  t.strictSame(planned('--case stored --servers ours-sqlite,json-server --stored 10,20 --connections 8'),
    [10, 20].flatMap(size => ['ours-sqlite', 'json-server'].map(name => `stored ${name} 1 connection stored=${size}`)))
  t.strictSame(planned('--url http://127.0.0.1:1 --token x --rate 9'),
    ['create url 64 connections', 'latency url 64 connections rate=9'])
  const servers = ['plugin', 'fastify-token', 'fastify', 'bare']
  const onNode = (node: string) => servers.map(server => `price ${server}${node} 1 connection`)
  const onEachNode = ['', `@${process.execPath}`].flatMap(onNode)
  t.strictSame(planned(`--case price --connections 1 --nodes ${process.execPath}`), onEachNode)
})

t.test('a server is also measured with another Node, another build, or a variable', async t => {
  for (const part of ['service', 'commands']) {
    const bin = { 'plant-store': `dist/${part}/main.js` }
    const folder = t.testdir({
      'package.json': JSON.stringify({ bin, exports: { '.': { default: './dist/index.js' } } }),
      dist: { 'index.js': '', [part]: { 'main.js': '' } }
    })
    const name = `ours-sqlite@${process.execPath}@ACCESS_LOG=true@${folder}`
    t.strictSame(planned(`--case create --servers ${name}`), [`create ${name} 64 connections`])
    const label = `plant-store, SQLite, Node ${process.versions.node}, ACCESS_LOG=true, ${basename(folder)}`
    t.match(variant(name), { label, node: process.execPath, environment: { ACCESS_LOG: 'true' } })
    t.equal(variant(name).module.href, pathToFileURL(join(folder, bin['plant-store'])).href)
    t.equal(variant(name).library.href, pathToFileURL(join(folder, 'dist/index.js')).href)
  }
})

t.test('--published measures all cases for longer, into the folder that is committed', async t => {
  const long = readOptions(['--published'])
  t.match(long, { rounds: 5, seconds: 4, latencySeconds: 5, save: 'bench/published', isPublished: true })
  t.equal(new Set(plan(long).map(spec => spec.case)).size, 8)
})

t.test('a run that measures only a part does not replace a full one', async t => {
  const folder = (words: string): string => readOptions(words.split(' ').filter(Boolean)).save
  t.equal(folder('--mongodb mongodb://127.0.0.1'), 'latest')
  t.equal(folder('--url http://127.0.0.1:1 --token x --rounds 1'), 'url')
  for (const words of [
    '--case create', '--servers bare', '--connections 8', '--rate 100', '--rounds 1', '--seconds 0.5', '--warm-up 1',
    '--published --rounds 3'
  ]) t.equal(folder(words), 'partial', words)
  t.equal(folder('--rounds 1 --save here'), 'here')
})

t.test('invalid options are refused with their names', async t => {
  for (const { words, message } of [
    { words: '--case nonsense', message: /--case "nonsense" must be one of create, / },
    { words: '--servers nginx', message: /--servers "nginx" must be/ },
    { words: '--servers pocketbase', message: '--servers pocketbase needs its program: add --pocketbase PATH' },
    { words: '--pocketbase /bin/true', message: '--pocketbase /bin/true is not a program of PocketBase' },
    { words: '--servers ours-sqlite@/tmp', message: /^\/tmp is not a build of plant-store/ },
    { words: '--case price --nodes /bin/false', message: /^\/bin\/false is not a program of Node\.js/ },
    { words: '--case price --servers plugin@A=1', message: /compare variables with another case/ },
    { words: '--connections 0', message: '--connections "0" must be an integer of 1 or more' },
    { words: '--nodes /bin/false', message: '--nodes is for the case price, which is not chosen' },
    { words: '--case create --rate 9', message: '--rate is for the case latency, which is not chosen' },
    { words: '--stored 10', message: '--stored is for the case stored, which is not chosen' },
    { words: '--distances 0', message: '--distances is for the case distance, which is not chosen' },
    { words: '--rate 1,,2', message: '--rate "" must be an integer of 1 or more' },
    { words: '--url http://127.0.0.1:1', message: '--url and --token must be given together' },
    { words: '--url http://user:secret@127.0.0.1 --token x', message: /--url must begin with http/ },
    { words: '--published --url http://127.0.0.1:1 --token x', message: /leave out --url/ },
    { words: '--unknown', message: /--unknown/ }
  ]) t.throws(() => planned(words), { name: 'TypeError', message }, words)
})
