import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Round } from '../../bench/load/measurement-window.js'
import type { Spec } from '../../bench/plan/cases.js'
import { contender } from '../../bench/plan/contenders.js'
import { header, page } from '../../bench/report/page.js'
import { pictures } from '../../bench/report/pictures.js'
import { load, type Measurement, type Results } from '../../bench/report/results.js'
import { tables } from '../../bench/report/tables.js'
import { projectFile } from '../support/process/program.js'

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

/** The texts of a picture, in their order. */
const textsOf = (svg = ''): string[] => Array.from(svg.matchAll(/<text [^>]*>([^<]*)</g), ([, text]) => String(text))

/** By WCAG 2.2, of two colours as #rrggbb. */
function contrast (one: string, other: string): number {
  const [light = 0, dark = 0] = [one, other].map(luminance).toSorted((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

function luminance (colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(start => {
    const part = parseInt(colour.slice(start, start + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

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

t.test('what stands in for MongoDB is named in tables, and is not in pictures', async t => {
  t.match(tables(results), /create: distinct plants, 64 connections; MongoDB scripted in memory, nothing is durable/)
  for (const text of [header(onFerret), tables(onFerret)]) t.match(text, program)
  for (const run of [results, onFerret]) {
    for (const svg of Object.values(pictures(run))) t.notMatch(svg, /MongoDB|FerretDB/)
  }
  const onMongo = { ...results, mongodb: { program: 'MongoDB', description: 'MongoDB 8.0 at db:27017' } }
  t.match(pictures(onMongo)['throughput.svg'], /plant-store, MongoDB[^]*MongoDB 8\.0 at db:27017/)
})

t.test('a picture tells in words what is on disk when it is answered', async t => {
  const servers = ['bare', 'json-server', 'ours-sqlite', 'pocketbase']
  const create = pictures(run(...servers.map((server, index) => measured({ server }, 1000 * index))))['throughput.svg']
  const headings = ['On disk when answered', 'Not on disk when answered', 'Without a store']
  const labels = [
    headings[0], 'plant-store, SQLite', headings[1], 'PocketBase, WAL, synchronous=NORMAL',
    'json-server, whole file, not synced', headings[2], 'bare node:http, no checks, no store'
  ]
  t.strictSame(textsOf(create).filter(text => labels.includes(text)), labels)
})

t.test('every text of a picture has a contrast of 4.5 on a white and on a dark page', async t => {
  for (const [name, svg] of Object.entries(pictures(results))) {
    const fills = new Set(Array.from(svg.matchAll(/<text [^>]*fill="([^"]*)"/g), ([, fill]) => String(fill)))
    t.ok(fills.size > 0, name)
    t.notMatch(svg, /<text [^>]*opacity/)
    for (const fill of fills) {
      const rule = new RegExp(`prefers-color-scheme: dark[^]*\\[fill="${fill}"\\] \\{ fill: (#\\w{6}) \\}`)
      const dark = rule.exec(svg)?.[1] ?? fill
      t.ok(contrast(fill, '#ffffff') >= 4.5, `${fill} on white: ${contrast(fill, '#ffffff')}`)
      t.ok(contrast(dark, '#0d1117') >= 4.5, `${dark} on dark: ${contrast(dark, '#0d1117')}`)
    }
  }
})

t.test('a create is shown for each number of plants stored before, or that it was too slow', async t => {
  const filled = (server: string, stored: number, more: Round): Measurement =>
    ({ ...measured({ case: 'stored', server, stored, connections: 1 }, 0), rounds: [more, more] })
  const found = run(
    filled('ours-sqlite', 10, { p50: 200 }), filled('json-server', 10, { p50: 300 }),
    filled('ours-sqlite', 1_000_000, { p50: 210 }), filled('json-server', 1_000_000, { keptUp: false })
  )
  t.match(tables(found), /json-server, whole file, not synced +10 +300 µs [^]*not synced +1,000,000 +too slow/)
  const texts = textsOf(pictures(found)['stored.svg'])
  for (const text of ['ms, with 10 stored', 'ms, with 1,000,000 stored', '200 µs', '210 µs', '300 µs', 'too slow']) {
    t.ok(texts.includes(text), text)
  }
})

t.test('a service at --url has no figure and no version that was not measured there', async t => {
  const service = measured({ server: 'url' }, 1000, { allThreads: undefined, busiestThread: undefined })
  const found: Results = { ...run(service), versions: {}, url: 'http://127.0.0.1:3000', machine: 'A machine' }
  t.match(header(found), /the load generator: A machine/)
  t.notMatch(tables(found), /busiest|all threads/)
  const svg = pictures(found)['throughput.svg'] ?? ''
  t.match(svg, 'http://127.0.0.1:3000')
  t.notMatch(svg, /processor time|A machine|Node/)
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

t.test('the published results name no folder of the machine on which they were measured', async t => {
  const published = readFileSync(projectFile('bench/published/results.json'), 'utf8')
  t.notMatch(published, /[\s"=,@]\/\w+\//)
})

t.test('what is not a saved run is refused, with what to do', async t => {
  t.throws(() => load('never-saved'), { message: /bench\/results\/never-saved.*--save/ })
  for (const content of ['[]', '{"measurements":[{"spec":{}}]}', 'text']) {
    const folder = t.testdir({ 'results.json': content })
    t.throws(() => load(folder), { message: /is not a saved run of this version/ }, content)
  }
})
