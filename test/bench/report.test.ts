import t from 'tap'
import { changes } from '../../bench/report/changes.js'
import { page } from '../../bench/report/page.js'
import { pictures } from '../../bench/report/pictures.js'
import { header, summary } from '../../bench/report/summary.js'
import { tables } from '../../bench/report/tables.js'
import type { Results, Round, Spec } from '../../bench/results.js'
import { isSteady } from '../../bench/run/rounds.js'
import { percentiles, ratio } from '../../bench/statistics.js'

const create: Spec = { case: 'create', server: 'bare', connections: 64 }
const latency = { p50: 900, p99: 2500, p999: 9000, max: 30_000 }
const usual = { latency, busiestThread: 30, allThreads: 40, generator: 17.9, generatorBusy: 0.5 }

function rounds (perSecond: number, more: Round = {}): Round[] {
  return [0.9, 1, 1.1].map(part => ({ perSecond: perSecond * part, ...usual, ...more }))
}

function run (...measurements: Array<[Partial<Spec>, Round[]]>): Results {
  return {
    date: '2026-01-02T03:04:05Z',
    command: 'npm run bench -- --case <all>',
    method: { rounds: 3, latencyRounds: 3, warmUp: 3, leadIn: 0.5, seconds: 1, latencySeconds: 1, disturbedRounds: 0, environment: '', isGeneratorApart: true, isPublished: false, isSteady: true },
    machine: 'A machine & more; stores on disk',
    versions: { 'plant-store': 'abc', node: '24.0.0', express: '5.9.9' },
    measurements: measurements.map(([spec, rounds]) => ({ spec: { ...create, ...spec }, rounds }))
  }
}

const results = run(
  [{}, rounds(50_000, { allThreads: 20 })],
  [{ server: 'ours-sqlite' }, rounds(40_000)],
  [{ server: 'fastify-sqlite' }, rounds(4000)],
  [{ server: 'fastify-batching' }, rounds(50_000)],
  [{ server: 'express-sqlite' }, rounds(60_000, { generatorBusy: 0.97 })],
  [{ server: 'ours-mongodb' }, rounds(20_000)],
  [{ server: 'ours-sqlite', case: 'latency', rate: 4000 }, rounds(4000, { keptUp: true, lateness: 120 })],
  [{ server: 'fastify-sqlite', case: 'latency', rate: 4000 }, rounds(3000, { keptUp: false })],
  [{ server: 'ours-sqlite', case: 'latency', rate: 16_000 }, rounds(16_000, { keptUp: true })],
  [{ server: 'fastify-sqlite', case: 'latency', rate: 16_000 }, [{ keptUp: false }]],
  [{ server: 'ours-sqlite', case: 'single', connections: 1 }, rounds(2000)],
  [{ server: 'fastify-sqlite', case: 'single', connections: 1 }, rounds(3000)],
  [{ server: 'ours-sqlite', case: 'commits', connections: 4 }, rounds(9000, { plantsPerCommit: 3.21 })],
  [{ server: 'ours-mongodb', case: 'distance', distance: 20 }, rounds(9000)],
  [{ server: 'ours-sqlite', case: 'start' }, [{ firstAnswer: 300 }]],
  [{ server: 'hello', case: 'start' }, [{ firstAnswer: 200 }]]
)
const named: Results = { ...results, mongodb: { address: 'db:27017', buildInfo: { version: '8.1.2' } } }
const text = tables(results)

t.test('ratios and processor time are shown next to throughput', async t => {
  t.match(text, /requests\/s .*÷ bare +÷ Fastify, same store +busiest thread, per response +÷ bare +all threads +÷ bare/)
  t.match(text, /plant-store, SQLite +40,000 +36,000–44,000 +0\.80 \(0\.80–0\.80\) +10\.0 \(10\.0–10\.0\) +30\.0 µs +1\.00 \(1\.00–1\.00\) +40\.0 µs +2\.00/)
  t.match(text, /20 ms +9,000/)
  t.match(text, /300 ms +1\.50/)
  t.match(text, /4 +9,000 .* 3\.2 /)
})

t.test('with a busy generator, throughput is a lower bound and has no ratio', async t => {
  t.match(text, /Express \+ zod, SQLite +at least 60,000 +54,000–66,000 +30\.0 µs/)
  t.match(text, /limited by the generator/)
})

t.test('the tables say which server cannot keep up', async t => {
  t.match(text, /Fastify, SQLite, one synchronous insert per request +4,000 +3,000.*cannot keep up/)
  t.match(text, /Fastify, SQLite, one synchronous insert per request +16,000 +not tried/)
  t.match(text, /generator late by 120 µs at p99/)
})

t.test('p99.9 is shown from 10,000 samples on', async t => {
  t.match(text, /p99 +p99\.9 +max/)
  t.match(text, /plant-store, SQLite +16,000 .* 2\.50 ms +9\.00 ms +30\.0 ms/)
  t.match(text, /plant-store, SQLite +4,000 .* 2\.50 ms +30\.0 ms/)
})

t.test('a scripted MongoDB is never shown as durable', async t => {
  t.match(text, /MongoDB scripted in memory, nothing is durable\n.*\n +plant-store, scripted MongoDB/)
  t.match(summary(results), [/^Durable on SQLite, 64 connections: 40,000 .*10\.0 .* times Fastify with one .*, 0\.80 .* times Fastify with group commit/, /^Durable on SQLite, 1 connection: 2,000 .*0\.67/,
    /^Processor time per response, 64 connections: 40\.0 µs, 30\.0/, /^p99 latency at 4,000 \/ 16,000 requests\/s, 64 connections: plant-store, SQLite: 2\.50 ms \/ 2\.50 ms; .*: cannot keep up \/ not tried/, /^Plants that share a commit.*3\.2 at 4/, /nothing durable/])
  t.match(summary(named).at(-1), /^MongoDB 8\.1\.2 at db:27017, 64 connections: 20,000 requests\/s/)
  for (const [more, name] of [[{ ferretdbVersion: 'v1.24.0' }, 'FerretDB'], [{ process: 'nx_27017' }, 'nx_27017']] as const) {
    const other: Results = { ...results, mongodb: { address: 'db:27017', buildInfo: { version: '7.0.0', ...more } } }
    const known = `${name}, a server compatible with MongoDB, at db:27017; durability not checked`
    t.match(header(other), `${known}: {"version":"7.0.0"`)
    t.match(tables(other), known)
    t.match(pictures(other)['throughput.svg'], known)
    t.match(pictures(other)['throughput.svg'], `>plant-store, ${name}<`, 'the bar names the program that ran')
  }
  for (const svg of Object.values(pictures(results))) t.notMatch(svg, 'MongoDB')
  t.match(pictures(named)['throughput.svg'], /plant-store, MongoDB[^]*MongoDB 8\.1\.2 at db:27017/)
  const near: Results = { ...results, mongodb: { address: '127.0.0.1:27017', buildInfo: { version: '8.1.2' } } }
  t.match(header(near), 'MongoDB 8.1.2, on the same machine: ')
})

t.test('the cost of the generator stands beside that of the server, and its lateness is drawn', async t => {
  t.match(text, /generator, per response/)
  t.match(pictures(results)['throughput.svg'], '>40.0 + 17.9<')
  t.match(summary(results).find(line => line.startsWith('Processor')), 'the generator\'s own: 17.9 µs')
  t.match(pictures(results)['latency.svg'], 'dash: how late the load generator started')
})

t.test('a quick run says that it is one, and a published run whether the machine was idle', async t => {
  const kind = (method: Partial<Results['method']>): string => header({ ...results, method: { ...results.method, ...method } })
  t.match(header(results), 'a quick run')
  t.match(pictures(results)['throughput.svg'], 'a quick run')
  t.match(kind({ isPublished: true, disturbedRounds: 2 }), 'a published run; the 3 rounds of bare agree within 10 %, after 2 that did not')
  t.match(kind({ isPublished: true, isSteady: false }), 'NOT agree')
  const bare = (...values: number[]) => run([{}, values.map(perSecond => ({ perSecond }))]).measurements
  t.equal(isSteady(bare(90, 100, 110), 3), false, 'the rounds differ by a fifth')
  t.equal(isSteady(bare(100, 300, 100, 104, 105), 3), true, 'only the last rounds count')
  t.equal(isSteady([], 3), undefined)
})

t.test('pictures are drawn from the raw results, readable on light and dark pages', async t => {
  const drawn = pictures(JSON.parse(JSON.stringify(results)))
  t.strictSame(Object.keys(drawn), ['throughput.svg', 'latency.svg', 'commits.svg'])
  for (const svg of Object.values(drawn)) {
    t.match(svg, /^<svg xmlns=/)
    t.match(svg, 'prefers-color-scheme: dark')
    t.match(svg, 'A machine &#38; more; Node 24.0.0; 2026-01-02')
    t.notMatch(svg, /NaN|Infinity|undefined/)
  }
  t.match(drawn['throughput.svg'], 'at least 60,000')
  t.match(drawn['latency.svg'], /one synchronous insert per request; cannot keep up at 4,000; not tried at 16,000</)
  t.strictSame(pictures(run()), {})
})

t.test('a store in memory is never shown as durable', async t => {
  const inMemory: Results = { ...results, machine: 'A machine; stores in memory (tmpfs), not durable' }
  t.match(summary(inMemory)[0], /^Not durable, in memory: SQLite, 64 connections/)
  t.notMatch(summary(inMemory).join(), 'Durable on')
  for (const svg of Object.values(pictures(inMemory))) t.match(svg, 'stores in memory (tmpfs), not durable')
})

t.test('the page contains its pictures, loads nothing and escapes its text', async t => {
  const html = page(header(results), summary(results), Object.values(pictures(results)), text)
  t.equal(html.match(/<svg/g)?.length, 3)
  t.notMatch(html, /<script|<link|src=|url\(http|@import/)
  t.match(html, '--case &#60;all&#62;')
  t.match(html, 'express 5.9.9')
})

t.test('a change beyond the noise is marked better or worse, one within it is not', async t => {
  const ours = (...values: number[]): Results => run([{ server: 'ours-sqlite' }, values.map(perSecond => ({ perSecond }))])
  const verdicts = (before: Results, now: Results): string[] => [...changes(before, now).values()]
  t.strictSame(verdicts(ours(100, 101, 99), ours(80, 81, 79)), ['0.80 WORSE'])
  t.strictSame(verdicts(ours(80, 81, 79), ours(100, 101, 99)), ['1.25 better'])
  t.strictSame(verdicts(ours(100, 75, 120), ours(80, 81, 79)), ['0.80'], 'the rounds overlap')
  t.strictSame(verdicts(ours(100, 100.1, 100.2), ours(97, 97.1, 97.2)), ['0.97'], 'the difference is too small')
  t.strictSame(verdicts(ours(100), ours(70)), ['0.70'], 'one round does not show the noise')
  t.strictSame(verdicts(ours(100), ours(40)), ['0.40 WORSE'])

  const besideBare = (bare: number, perSecond: number): Results => run([{}, rounds(bare)], [{ server: 'ours-sqlite' }, rounds(perSecond)])
  t.strictSame(verdicts(besideBare(100, 80), besideBare(50, 40)), ['0.50 worse', '1.00'], 'a slower machine is not a regression')
  t.strictSame(verdicts(besideBare(100, 80), besideBare(100, 40)), ['1.00', '0.50 WORSE'])
  const limited = run([{}, rounds(100, { generatorBusy: 0.95 })], [{ server: 'ours-sqlite' }, rounds(40)])
  t.strictSame(verdicts(besideBare(100, 80), limited), ['1.00', '0.50 WORSE'], 'bare was limited by the generator')
  const open = (p99: number, keptUp = true): Results => run([{ server: 'ours-sqlite', case: 'latency', rate: 10 }, rounds(10, { keptUp, latency: { ...latency, p99 } })])
  t.strictSame(verdicts(open(1000), open(2000)), ['2.00 WORSE'])
  t.strictSame(verdicts(open(1000), open(1000, false)), ['1.00 WORSE'], 'a rate that it can no longer keep up with')
  t.strictSame(verdicts(ours(100), run([{ server: 'ours-sqlite', connections: 1 }, [{ perSecond: 1 }]])), [], 'a spec measured by only one run is ignored')
  const peer = (perSecond: number): Results => run([{ server: 'fastify-sqlite' }, rounds(perSecond)])
  t.strictSame(verdicts(peer(100), peer(50)), ['0.50 worse'], 'a peer')
  t.match(tables(ours(80, 81, 79), ours(100, 101, 99)), /÷ before\n.*0\.80 WORSE/)
})

t.test('a ratio is that of the medians, with the spread of the ratios of paired rounds', async t => {
  t.strictSame(ratio([10, 20, 30], [20, 20, 40]), { median: 1, low: 0.5, high: 1, rounds: 3 })
})

t.test('percentiles are values that occurred', async t => {
  const values = Array.from({ length: 1000 }, (_, place) => 1000 - place)
  t.strictSame(percentiles(values), { p50: 500, p99: 990, p999: 999, max: 1000 })
  t.strictSame(percentiles([7]), { p50: 7, p99: 7, p999: 7, max: 7 })
  t.equal(percentiles([]), undefined)
})
