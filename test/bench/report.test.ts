import t from 'tap'
import { contender } from '../../bench/contenders.js'
import { pictures } from '../../bench/report/pictures.js'
import { header, page, tables, wrapped } from '../../bench/report/tables.js'
import type { Results, Round, Spec } from '../../bench/results.js'

const create: Spec = { case: 'create', server: 'bare', connections: 64 }
const latency = { p50: 900, p99: 2500, p999: 9000, max: 30_000 }
const figures = { latency, busiestThread: 30, allThreads: 40, generator: 17.9, generatorBusy: 0.5 }

function rounds (perSecond: number, more: Round = {}): Round[] {
  return [0.9, 1, 1.1].map(part => ({ perSecond: perSecond * part, ...figures, ...more }))
}

function run (...measurements: Array<[Partial<Spec>, Round[]]>): Results {
  return {
    date: '2026-01-02T03:04:05Z',
    command: 'npm run bench -- --case <all>',
    method: { rounds: 3, warmUp: 3, leadIn: 0.5, seconds: 1, latencySeconds: 1, isPublished: false },
    machine: 'A machine & more; stores on disk',
    versions: { 'plant-store': 'abc', node: '24.0.0', express: '5.9.9' },
    measurements: measurements.map(([more, rounds]) => {
      const spec = { ...create, ...more }
      const [, variant] = spec.server.split('@')
      return { spec, label: `${contender(spec.server).label}${variant === undefined ? '' : `, ${variant}`}`, rounds }
    })
  }
}

const results = run(
  [{}, rounds(50_000, { busiestThread: 20 })],
  [{ server: 'ours-sqlite' }, rounds(40_000)],
  [{ server: 'ours-sqlite@older' }, rounds(44_000, { busiestThread: 27 })],
  [{ server: 'group-sqlite' }, rounds(50_000)],
  [{ server: 'fastify-sqlite' }, rounds(60_000, { generatorBusy: 0.97 })],
  [{ server: 'ours-mongodb' }, rounds(20_000)],
  [{ server: 'ours-sqlite', case: 'latency', rate: 4000 }, rounds(4000, { keptUp: true, lateness: 120 })],
  [{ server: 'fastify-sqlite', case: 'latency', rate: 4000 }, rounds(3000, { keptUp: false })],
  [{ server: 'ours-sqlite', case: 'latency', rate: 16_000 }, rounds(16_000, { keptUp: true })],
  [{ server: 'ours-sqlite', case: 'commits', connections: 4 }, rounds(9000, { plantsPerCommit: 3.21 })],
  [{ server: 'ours-mongodb', case: 'distance', distance: 0 }, rounds(18_000)],
  [{ server: 'ours-mongodb', case: 'distance', distance: 20 }, rounds(9000)]
)
const mongodb = { program: 'FerretDB', description: 'FerretDB v1.24.0 (not MongoDB; durability not checked) at db:27017' }
const text = tables(results)
const wide = tables(results, Infinity)

t.test('throughput, processor time and their ratios stand in lines of at most 100 characters', async t => {
  for (const line of text.split('\n')) t.ok(line.length <= 100, line)
  t.match(text, /server +requests\/s +busiest +÷ bare +÷ plain +all threads/)
  t.match(text, /plant-store, SQLite +40,000 +30\.0 µs +1\.50 +40\.0 µs/)
  t.match(text, /plant-store, SQLite, older +44,000 +27\.0 µs +1\.35 +0\.90 +40\.0 µs +1\.00/)
  t.match(text, /20 ms +9,000 +8,100–9,900 +0\.50/)
  t.match(text, /4 +9,000 .* 3\.2/)
  t.match(wide, /plant-store, SQLite +40,000 +36,000–44,000 +0\.80 +0\.80 .* 900 µs +2\.50 ms +17\.9 µs/)
})

t.test('with a busy generator, throughput is a lower bound and has no ratio', async t => {
  t.match(wide, /Fastify, SQLite, insert per request +≥ 60,000 +54,000–66,000 +30\.0 µs/)
})

t.test('the tables say which server cannot keep up, how late the generator was, and p99.9 from 10,000 samples on', async t => {
  t.match(wide, /plant-store, SQLite +4,000 .* 2\.50 ms +30\.0 ms +120 µs/)
  t.match(text, /Fastify, SQLite, insert per request +4,000 .*cannot keep up/)
  t.match(text, /plant-store, SQLite +16,000 .* 2\.50 ms +9\.00 ms +30\.0 ms/)
})

t.test('a scripted MongoDB is never shown as durable, and another program is named', async t => {
  t.match(text, 'create: distinct plants, 64 connections; MongoDB scripted in memory, nothing is durable')
  for (const svg of Object.values(pictures(results))) t.notMatch(svg, 'MongoDB')
  t.match(header({ ...results, mongodb }), mongodb.description)
  t.match(tables({ ...results, mongodb }), mongodb.description)
  t.match(pictures({ ...results, mongodb })['throughput.svg'], mongodb.description)
})

t.test('the header tells how quick the run was, and how steady the machine', async t => {
  t.match(header(results), /a quick run[^]*the rounds of bare node:http differ by 20 %: the machine was not idle[^]*express 5\.9\.9/)
  t.match(header({ ...results, method: { ...results.method, isPublished: true } }), 'a published run')
  t.strictSame(wrapped(`${'word '.repeat(30)}\nshort`).split('\n').map(line => line.length), [99, 49, 5])
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

t.test('the page contains its pictures, loads nothing and escapes its text', async t => {
  const html = page(results, pictures(results))
  t.equal(html.match(/<svg/g)?.length, 3)
  t.notMatch(html, /<script|<link|src=|url\(http|@import/)
  t.match(html, '--case &#60;all&#62;')
})
