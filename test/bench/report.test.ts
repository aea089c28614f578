import t from 'tap'
import { page } from '../../bench/report/page.js'
import { picture } from '../../bench/report/picture.js'
import { measurementTables, targetTable } from '../../bench/report/table.js'
import { judge, targets } from '../../bench/targets.js'
import type { Results } from '../../bench/results.js'
import type { Round, Spec } from '../../bench/spec.js'

const closed: Spec = { kind: 'closed', server: 'bare', caseName: 'create', connections: 64, order: 'growing' }
const latency = { p50: 900, p90: 1100, p99: 2500, p999: 9000, p9999: 20_000, max: 30_000 }
const rounds = (perSecond: number, more: Partial<Round> = {}): Round[] => [0.9, 1, 1.1].map((part) => ({ perSecond: perSecond * part, latency, ...more }))
const results: Results = {
  name: 'a <run>',
  date: '2026-01-02T03:04:05Z',
  machine: { processor: '', cores: 2, memory: '', system: '', node: '', disk: 'disk', commit: 'abc', text: 'A machine & more' },
  options: { rounds: 3 },
  measurements: [
    { spec: closed, rounds: rounds(50_000) },
    { spec: { ...closed, server: 'ours-sqlite' }, rounds: rounds(40_000, { generatorBusy: 0.99 }) },
    { spec: { ...closed, server: 'express-sqlite' }, rounds: rounds(4000) },
    { spec: { ...closed, server: 'fastify-sqlite', caseName: 'big-ids' }, rounds: [], left: 'rounds ids beyond 2^53' },
    { spec: { ...closed, server: 'ours-sqlite', kind: 'open', rate: { share: 0.5 } }, rounds: rounds(20_000, { rate: 20_000, unanswered: 3 }) },
    { spec: { ...closed, server: 'ours-sqlite', plants: 0 }, rounds: rounds(40_000) },
    { spec: { ...closed, server: 'ours-sqlite', plants: 1000 }, rounds: rounds(36_000) },
    { spec: { ...closed, server: 'ours-mongodb', distance: 0 }, rounds: rounds(10_000) },
    { spec: { ...closed, server: 'ours-mongodb', distance: 20 }, rounds: rounds(9000, { measuredDistance: 20.4 }) }
  ]
}

t.test('the tables put ratios first and say what was not measured, and why', async (t) => {
  const text = measurementTables(results)
  t.match(text, /÷ bare +÷ Express +a second/)
  t.match(text, /plant-store, SQLite +0\.80 \(0\.80–0\.80\) +10\.0 \(10\.0–10\.0\) +40,000 +36,000–44,000/)
  t.match(text, /not measured: rounds ids beyond 2\^53/)
  t.match(text, /load generator 99% busy/)
  t.match(text, /20,000 \(50%\).*3 starts never answered/)
  t.match(text, /1,000 +0\.90/)
  t.match(text, /20 ms +20\.4 ms +0\.90/)
})

t.test('targets: met, stretched, short, or left out', async (t) => {
  const rows = judge(targets(1000), results.measurements)
  t.strictSame(Object.fromEntries(rows.map(({ name, verdict }) => [name, verdict])), {
    'no-store': 'left out',
    sqlite: 'pass',
    'access-log': 'left out',
    'mongodb-fastify': 'left out',
    'mongodb-express': 'left out',
    'mongodb-loop': 'left out',
    'sqlite-express': 'stretch',
    distance: 'left out',
    growth: 'left out',
    p99: 'pass',
    alone: 'left out',
    start: 'left out'
  })
  t.match(targetTable(rows), /p99 at half.* +2\.5 \(2\.5–2\.5\) ms +≤ 5 ms +≤ 2 ms +pass/)
})

t.test('the page holds its charts, fetches nothing and escapes what it shows', async (t) => {
  const html = page(results, { ...results, name: 'before' })
  t.equal(html.match(/<svg/g)?.length, 4)
  t.notMatch(html, /<script|<link|src=|url\(http|@import/)
  t.match(html, /a &lt;run&gt;/)
  t.match(html, /currentColor/)
})

t.test('the picture says where and when', async (t) => {
  const svg = picture(results)
  t.match(svg, /^<svg xmlns=/)
  t.match(svg, /A machine &amp; more; 2026-01-02/)
  t.throws(() => picture({ ...results, measurements: [] }), { message: /nothing to draw/ })
})
