import t from 'tap'
import type { Round } from '../../bench/load/round.js'
import type { Spec } from '../../bench/plan/cases.js'
import { contender } from '../../bench/plan/contenders.js'
import { page } from '../../bench/report/page.js'
import { pictures } from '../../bench/report/pictures.js'
import { load, type Results } from '../../bench/report/results.js'
import { header, tables, wrapped } from '../../bench/report/tables.js'

const create: Spec = { case: 'create', server: 'bare', connections: 64 }
const latency = { p50: 900, p99: 2500, p999: 9000, max: 30_000 }
const figures = { latency, busiestThread: 30, allThreads: 40, generator: 17.9, generatorBusy: 0.5 }

function rounds (perSecond: number, more: Round = {}): Round[] {
  return [0.9, 1, 1.1].map(part => ({ perSecond: perSecond * part, ...figures, ...more }))
}

interface Measured { rounds: Round[], spec?: Partial<Spec> }

function run (...measurements: Measured[]): Results {
  return {
    date: '2026-01-02T03:04:05Z',
    command: 'npm run bench -- --case <all>',
    method: { rounds: 3, warmUp: 3, leadIn: 0.5, seconds: 1, latencySeconds: 1, isPublished: false },
    machine: 'A machine & more; stores on disk',
    versions: { 'plant-store': 'abc', node: '24.0.0', express: '5.9.9' },
    measurements: measurements.map(({ rounds, spec: more }) => {
      const spec = { ...create, ...more }
      const [, variant] = spec.server.split('@')
      return { spec, label: `${contender(spec.server).label}${variant === undefined ? '' : `, ${variant}`}`, rounds }
    })
  }
}

const slow = { server: 'fastify-sqlite', case: 'latency', rate: 4000 } as const
const results = run(
  { rounds: rounds(50_000, { busiestThread: 20 }) },
  { spec: { server: 'ours-sqlite' }, rounds: rounds(40_000) },
  { spec: { server: 'ours-sqlite@older' }, rounds: rounds(44_000, { busiestThread: 27 }) },
  { spec: { server: 'group-sqlite' }, rounds: rounds(50_000) },
  { spec: { server: 'fastify-sqlite' }, rounds: rounds(60_000, { generatorBusy: 0.97 }) },
  { spec: { server: 'ours-mongodb' }, rounds: rounds(20_000) },
  { spec: { ...slow, server: 'ours-sqlite' }, rounds: rounds(4000, { keptUp: true, lateness: 120 }) },
  { spec: slow, rounds: rounds(3000, { keptUp: false }) },
  { spec: { ...slow, server: 'ours-sqlite', rate: 16_000 }, rounds: rounds(16_000, { keptUp: true }) },
  {
    spec: { server: 'ours-sqlite', case: 'commits', connections: 4 },
    rounds: rounds(9000, { plantsPerCommit: 3.21 })
  },
  { spec: { server: 'ours-mongodb', case: 'distance', distance: 0 }, rounds: rounds(18_000) },
  { spec: { server: 'ours-mongodb', case: 'distance', distance: 20 }, rounds: rounds(9000) }
)
const mongodb = { program: 'FerretDB', description: 'FerretDB v1.24.0 (not MongoDB; durability not checked) at db:27017' }
const text = tables(results)
const wide = tables(results, { width: Infinity, others: 'left out' })

t.test('throughput, processor time and their ratios stand in lines of at most 100 characters', async t => {
  for (const line of text.split('\n')) t.ok(line.length <= 100, line)
  t.match(text, /server +requests\/s +÷ bare +÷ plain +busiest +÷ plain +all threads\n/)
  t.match(text, /plant-store, SQLite +40,000 +0\.80 +30\.0 µs +40\.0 µs/)
  t.match(text, /plant-store, SQLite, older +44,000 +0\.88 +1\.10 +27\.0 µs +0\.90 +40\.0 µs/)
  t.match(text, /20 ms +9,000 +0\.50 +8,100–9,900/)
  t.match(text, /4 +9,000 .* 3\.2/)
  t.match(wide, /plant-store, SQLite +40,000 +0\.80 +0\.80 +36,000–44,000 .* 900 µs +2\.50 ms +17\.9 µs/)
})

t.test('each table explains its own columns, and a ratio stands beside what it divides', async t => {
  const [creates = ''] = wide.split('\n\n')
  t.match(creates, /requests\/s +÷ bare +÷ group commit +÷ plain +range/)
  t.match(creates, /busiest +÷ bare +÷ plain +all threads +÷ bare +÷ plain/)
  t.match(creates, '÷ bare: the figure to its left, divided by that of bare node:http')
  t.match(creates, "busiest: processor time per response of the server's busiest thread")
  for (const { column, legend } of [
    { column: 'kept up', legend: 'kept up: in how many rounds' },
    { column: '÷ nearest', legend: '÷ nearest: the figure to its left' }
  ]) {
    const explaining = wide.split('\n\n').filter(table => table.includes(legend))
    t.strictSame(explaining, wide.split('\n\n').filter(table => table.includes(column)), column)
    t.ok(explaining.length > 0, column)
  }
})

t.test('with a busy generator, throughput is a lower bound and has no ratio', async t => {
  t.match(wide, /Fastify, SQLite, insert per request +≥ 60,000 +54,000–66,000 +30\.0 µs/)
})

t.test('the tables say in which rounds a server kept up, how late the generator was, and p99.9 from 10,000 samples on', async t => {
  t.match(wide, /plant-store, SQLite +4,000 +4,000 +3 of 3 .* 2\.50 ms +30\.0 ms +120 µs/)
  t.match(text, /Fastify, SQLite, insert per request +4,000 .*0 of 3 .*cannot keep up/)
  t.match(text, /plant-store, SQLite +16,000 .* 2\.50 ms +9\.00 ms +30\.0 ms/)
})

t.test('the price of the plugin is compared within each round, in a table for each Node', async t => {
  const price = (server: string, times: number[], ratios: number[], runtime = ''): Measured => ({
    spec: { case: 'price', server, connections: 32, runtime },
    rounds: times.map((price, index) => ({ price, firstDividedByIt: ratios[index] }))
  })
  const priced = tables(run(
    price('plugin', [60, 66, 61], [1, 1, 1]),
    price('fastify-token', [50, 58, 55], [1.2, 1.137, 1.109]),
    price('plugin@node24', [40], [1], '@node24'),
    price('bare@node24', [30], [1.333], '@node24')
  ))
  t.match(priced, /Fastify \+ TypeBox \+ token, no store +55\.0 µs +1\.137 +1\.109–1\.200/)
  t.equal(priced.match(/^price: the plugin beside Fastify itself/gm)?.length, 2)
})

t.test('a scripted MongoDB is never shown as durable, and another program is named', async t => {
  t.match(text, 'create: distinct plants, 64 connections; MongoDB scripted in memory, nothing is durable')
  for (const svg of Object.values(pictures(results))) t.notMatch(svg, 'MongoDB')
  t.match(header({ ...results, mongodb }), mongodb.description)
  t.match(tables({ ...results, mongodb }), mongodb.description)
  t.match(pictures({ ...results, mongodb })['throughput.svg'], mongodb.description)
})

t.test('the header tells how quick the run was, and how steady the machine', async t => {
  t.match(header(results), /a quick run[^]*the rounds of bare node:http differ by 20 %: the machine was not idle/)
  t.match(header(results), 'express 5.9.9')
  t.match(header({ ...results, method: { ...results.method, isPublished: true } }), 'a published run')
  t.strictSame(wrapped(`${'word '.repeat(30)}\nshort`).map(line => line.length), [99, 49, 5])
})

t.test('pictures are drawn from the raw results', async t => {
  const drawn = pictures(JSON.parse(JSON.stringify(results)))
  t.strictSame(Object.keys(drawn), ['throughput.svg', 'latency.svg', 'commits.svg'])
  for (const svg of Object.values(drawn)) {
    t.match(svg, /^<svg .*xmlns=/)
    t.match(svg, /A machine &amp; more; Node 24\.0\.0; 2026-01-02; .*a quick run/)
    t.notMatch(svg, /NaN|Infinity|undefined/)
  }
  t.match(drawn['throughput.svg'], /≥ 60,000[^]*40\.0 \+ 17\.9/)
  t.match(drawn['latency.svg'], /cannot keep up/)
  t.strictSame(pictures(run()), {})
})

t.test('a picture marks a server that did not keep up in every round', async t => {
  const [first = {}, second = {}, third = {}] = rounds(16_000)
  const failed = { ...second, keptUp: false, latency: { ...latency, p99: 2_345_000 } }
  const drawn = (...all: Round[][]): string => {
    const measured = all.map((rounds): Measured => ({ spec: { ...slow, server: 'ours-sqlite' }, rounds }))
    return pictures(run(...measured))['latency.svg'] ?? ''
  }
  const once = drawn([first, failed, third])
  t.match(once, />2\.50<[^]*>1 of 3 too slow</)
  t.match(once, 'less than 95 % of the rate was answered')
  t.notMatch(once, />[23]000</, 'the axis fits the rounds that count')
  t.match(drawn([failed, failed, third]), />2 of 3 too slow</)
  t.notMatch(drawn([first, second, third]), 'too slow')
})

t.test('where no server keeps up, there is no axis', async t => {
  const failed = { spec: slow, rounds: rounds(3000, { keptUp: false }) }
  const svg = pictures(run(failed))['latency.svg'] ?? ''
  t.match(svg, 'cannot keep up')
  t.notMatch(svg, />0(\.\d+)?</)
})

t.test('the tables of the page fit into a window of 1,000 px, and none of their columns is left out', async t => {
  const [, pre = ''] = /<pre>([^]*)<\/pre>/.exec(page(results, {})) ?? []
  // 13 px of a monospaced font: 7.83 px for each character.
  for (const line of pre.split('\n')) t.ok(line.length <= 118, line)
  for (const column of ['÷ group commit', 'range', 'all threads', 'p50', 'p99', 'generator']) t.match(pre, column)
})

t.test('the page contains its pictures, loads nothing and escapes its text', async t => {
  const html = page(results, pictures(results))
  t.equal(html.match(/<svg/g)?.length, 3)
  t.notMatch(html, /<script|<link|src=|url\(http|@import/)
  t.match(html, '--case &#60;all&#62;')
})

t.test('what is not a saved run is refused, with what to do', async t => {
  t.throws(() => load('never-saved'), { message: /bench\/results\/never-saved.*--from/ })
  for (const content of ['{"name":"a-package"}', '[]', '{"measurements":[{"spec":{}}]}', 'text']) {
    const folder = t.testdir({ 'results.json': content })
    t.throws(() => load(folder), { message: /is not a saved run of this version/ }, content)
  }
})
