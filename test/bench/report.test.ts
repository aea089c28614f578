import t from 'tap'
import type { Round } from '../../bench/load/measurement-window.js'
import type { Spec } from '../../bench/plan/cases.js'
import { contender } from '../../bench/plan/contenders.js'
import { header, page } from '../../bench/report/page.js'
import { pictures } from '../../bench/report/pictures.js'
import { load, type Measurement, type Results } from '../../bench/report/results.js'
import { tables } from '../../bench/report/tables.js'

const figures = { p50: 900, p99: 2500, max: 30_000, busiestThread: 30, allThreads: 40, generator: 17.9 }

/** Three rounds that differ by 20 %. */
function measured (spec: Partial<Spec>, perSecond: number, more: Round = {}): Measurement {
  const rounds = [0.9, 1, 1.1].map(part => ({ perSecond: perSecond * part, ...figures, ...more }))
  const { server = 'bare' } = spec
  const [, variant] = server.split('@')
  const label = `${contender(server).label}${variant === undefined ? '' : `, ${variant}`}`
  return { spec: { case: 'create', connections: 64, server, ...spec }, label, rounds }
}

const run = (...measurements: Measurement[]): Results => ({
  date: '2026-01-02T03:04:05Z',
  command: 'npm run bench -- --case <all>',
  method: { rounds: 3, warmUp: 3, leadIn: 0.5, seconds: 1, latencySeconds: 1, isPublished: false },
  machine: 'A machine & more; stores on disk',
  versions: { 'plant-store': 'abc', node: '24.0.0', express: '5.9.9' },
  measurements
})

const latency = { case: 'latency', server: 'ours-sqlite', rate: 16_000 } as const
const tooSlow = measured({ ...latency, server: 'fastify-sqlite' }, 3000, { keptUp: false })
const results = run(
  measured({}, 50_000, { busiestThread: 20 }),
  measured({ server: 'ours-sqlite' }, 40_000),
  measured({ server: 'ours-sqlite@older' }, 44_000, { busiestThread: 27 }),
  measured({ server: 'fastify-sqlite' }, 60_000, { generatorBusy: 0.97 }),
  measured({ server: 'ours-mongodb' }, 20_000),
  measured(latency, 16_000, { keptUp: true, lateness: 120 }),
  tooSlow,
  measured({ server: 'ours-sqlite', case: 'commits', connections: 4 }, 9000, { plantsPerCommit: 3.21 }),
  measured({ server: 'ours-mongodb', case: 'distance', distance: 0 }, 18_000),
  measured({ server: 'ours-mongodb', case: 'distance', distance: 20 }, 9000)
)
const program = 'FerretDB v1.24.0 (not MongoDB; durability not checked) at db:27017'
const onFerret: Results = { ...results, mongodb: { program: 'FerretDB', description: program } }

t.test('tables show and explain every figure and its ratios, and fit a terminal and a window of 1,000 px', async t => {
  const text = tables(results)
  for (const line of text.split('\n')) t.ok(line.length <= 100, line)
  t.match(text, /server +requests\/s +÷ bare +÷ plain +range\n/)
  t.match(text, /plant-store, SQLite +40,000 +0\.80 +36,000–44,000\n/)
  t.match(text, /plant-store, SQLite, older +44,000 +0\.88 +1\.10 /)
  t.match(text, /server +busiest +÷ bare +÷ plain +all threads +p50 +p99\n/)
  t.match(text, /plant-store, SQLite, older +27\.0 µs +1\.35 +0\.90 +40\.0 µs +900 µs +2\.50 ms\n/)
  t.match(text, /20 ms +9,000 +0\.50 +8,100–9,900/)
  t.match(text, /4 +9,000 .* 3\.2/)
  // With a busy generator, throughput is a lower bound and has no ratio.
  t.match(text, /Fastify, SQLite, insert per request +≥ 60,000 +54,000–66,000\n/)
  t.match(text, /plant-store, SQLite +16,000 +3 of 3 +900 µs +2\.50 ms +30\.0 ms\n/)
  t.match(text, /plant-store, SQLite +16,000 +120 µs/)
  t.match(text, /Fastify, SQLite, insert per request +16,000 +0 of 3 .*cannot keep up/)
  t.match(
    header(results), /a quick run[^]*the rounds of bare node:http differ by 20 %: the machine was not idle[^]*express 5/
  )
  // Each table explains its own columns.
  const [create = '', , latency = ''] = text.split('\n\n').map(table => table.replaceAll('\n', ' '))
  t.match(create, '÷ bare: the figure to its left, divided by that of bare node:http')
  t.notMatch(create, 'kept up')
  t.match(latency, 'kept up: in how many rounds at least 95 % of the rate was answered')
})

t.test('the price of the plugin has a table for each Node', async t => {
  const priced = (server: string, node: string, firstDividedByIt: number): Measurement =>
    measured({ case: 'price', server, node }, 0, { price: 55, firstDividedByIt })
  const text = tables(run(priced('plugin', '20', 1), priced('fastify', '20', 1.2), priced('plugin@24', '24', 1)))
  t.match(text, /Fastify \+ TypeBox, no store +55\.0 µs +1\.200 +1\.200–1\.200/)
  t.equal(text.match(/^price: the plugin beside Fastify itself/gm)?.length, 2)
})

t.test('a scripted MongoDB is never shown as durable, and another program is named', async t => {
  t.match(tables(results), /create: distinct plants, 64 connections; MongoDB scripted in memory, nothing is durable/)
  for (const svg of Object.values(pictures(results))) t.notMatch(svg, 'MongoDB')
  for (const text of [header(onFerret), tables(onFerret), pictures(onFerret)['throughput.svg']]) t.match(text, program)
})

t.test('pictures are drawn from the raw results, on a page that loads nothing and escapes its text', async t => {
  const drawn = pictures(JSON.parse(JSON.stringify(results)))
  t.strictSame(Object.keys(drawn), ['throughput.svg', 'latency.svg', 'commits.svg'])
  for (const svg of Object.values(drawn)) {
    t.match(svg, /^<svg .*xmlns=/)
    t.match(svg, /A machine &amp; more; Node 24\.0\.0; 2026-01-02; .*a quick run/)
    t.notMatch(svg, /NaN|Infinity|undefined/)
  }
  t.match(drawn['throughput.svg'], /≥ 60,000[^]*40\.0 \+ 17\.9/)
  t.strictSame(pictures(run()), {})

  const html = page(results, drawn)
  t.equal(html.match(/<svg/g)?.length, 3)
  t.notMatch(html, /<script|<link|src=|url\(http|@import/)
  t.match(html, '--case &#60;all&#62;')
})

t.test('a picture marks a server that kept up in some rounds only; where none keeps up, there is no axis', async t => {
  const inTime = { ...figures, keptUp: true }
  const late = { ...figures, keptUp: false, p99: 2_345_000 }
  const drawn = (...rounds: Round[]): string => pictures(run({ ...tooSlow, rounds }))['latency.svg'] ?? ''
  const once = drawn(inTime, late, inTime)
  t.match(once, />2\.50<[^]*>1 of 3 too slow<[^]*less than 95 % of the rate was answered/)
  t.notMatch(once, />[23]000</, 'the axis fits the rounds that count')
  t.match(drawn(late, late, inTime), />2 of 3 too slow</)
  t.notMatch(drawn(inTime, inTime, inTime), 'too slow')
  t.match(drawn(late, late, late), 'cannot keep up')
  t.notMatch(drawn(late, late, late), />0(\.\d+)?</)
})

t.test('what is not a saved run is refused, with what to do', async t => {
  t.throws(() => load('never-saved'), { message: /bench\/results\/never-saved.*--save/ })
  for (const content of ['[]', '{"measurements":[{"spec":{}}]}', 'text']) {
    const folder = t.testdir({ 'results.json': content })
    t.throws(() => load(folder), { message: /is not a saved run of this version/ }, content)
  }
})
