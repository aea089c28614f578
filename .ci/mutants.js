// Changes the sources that decide what happens to a plant, one small change at a time, and reports the changes that no
// test notices: `npm run mutants -- --help`. A change that the compiler refuses counts as noticed.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync, chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync,
  symlinkSync, writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { mutantsOf, transpiled } from './mutations.js'

// Each source, and the tests that concern it: the cheapest first, as the first that fails ends it.
const ROUTE_TESTS = [
  'route/bodies', 'plugin/bodies-of-a-host', 'route/create-plant', 'plugin/hooks-of-a-host', 'route/routes',
  'route/hostile-requests'
]
const MONGO_TESTS = ['stores/mongo/mongo-writer', 'stores/mongo/mongo-plant-store', 'simulation/simulation']
const TESTS = {
  'src/route/body-parser.ts': ROUTE_TESTS,
  'src/route/pending-requests.ts': ROUTE_TESTS,
  'src/stores/batching/batch-queue.ts': ['stores/batched-plant-store', 'simulation/simulation'],
  'src/stores/batching/outage.ts': ['stores/batched-plant-store', 'simulation/simulation'],
  'src/stores/batching/pending-creates.ts': ['stores/batched-plant-store', 'simulation/simulation'],
  'src/stores/mongo/mongo-writer.ts': MONGO_TESTS,
  'src/stores/mongo/mongo-outcomes.ts': MONGO_TESTS,
  'src/stores/mongo/existing-plants.ts': MONGO_TESTS,
  'src/stores/sqlite/plants-table.ts': [
    'stores/sqlite/plants-table', 'stores/sqlite/altered-tables', 'stores/sqlite/sqlite-plant-store',
    'stores/sqlite/sqlite-file'
  ],
  'src/stores/sqlite/sqlite-client.ts': [
    'stores/sqlite/sqlite-plant-store', 'stores/sqlite/altered-tables', 'stores/sqlite/sqlite-process'
  ],
  'src/service/commands/new-file.ts': ['commands/backup', 'commands/interruption', 'commands/transfers']
}

const usage = `npm run mutants -- [--count 300] [--seed 1] [--minutes 60] [--jobs 2] [--least 0] [SOURCE…]
  --count    how many of the possible changes are tried: a sample that depends only on the seed and the sources
  --minutes  ends after this time; the next run goes on where this one ended
  --least    fails if less than this share (in %) is noticed`
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '60' },
    jobs: { type: 'string', default: '2' },
    least: { type: 'string', default: '0' },
    help: { type: 'boolean' }
  }
})
if (options.help) {
  console.log(usage)
  process.exit()
}

// Only for writing: what Node's `ignore` opens can be read, which `export` takes for a closed output.
const output = openSync('/dev/null', 'w')
const end = performance.now() + Number(options.minutes) * 60_000
const results = 'node_modules/.cache/mutants.ndjson'
mkdirSync(dirname(results), { recursive: true })
const known = new Map()
if (existsSync(results)) {
  for (const line of readFileSync(results, 'utf8').trim().split('\n')) known.set(JSON.parse(line).key, JSON.parse(line))
}

const sources = positionals.length > 0 ? positionals : Object.keys(TESTS)
const sample = sources.flatMap(file => mutantsOf(file).map(keyed))
  .sort((a, b) => a.order < b.order ? -1 : 1).slice(0, Number(options.count))
const waiting = sample.filter(({ key }) => !known.has(key))
console.log(`${sample.length} changes, ${sample.length - waiting.length} of them tried before`)
await Promise.all(Array.from({ length: Number(options.jobs) }, tryWaiting))
report()

/** Adds the key by which an earlier result is found, and the place in the random order. */
function keyed (mutant) {
  const hash = text => createHash('sha256').update(text).digest('hex')
  const tests = TESTS[mutant.file].map(name => readFileSync(`build/test/${name}.test.js`, 'utf8'))
  return { ...mutant, key: hash(mutant.text + tests.join()), order: hash(`${options.seed} ${mutant.id}`) }
}

async function tryWaiting () {
  const folder = sandbox()
  const limits = new Map()
  try {
    while (performance.now() < end) {
      const mutant = waiting.shift()
      if (mutant === undefined) break
      const result = { key: mutant.key, noticedBy: await noticedBy(mutant, folder, limits) }
      // A test that the end of the time has stopped says nothing.
      if (performance.now() >= end) break
      known.set(mutant.key, result)
      appendFileSync(results, `${JSON.stringify(result)}\n`)
      if (result.noticedBy === undefined) console.log(`not noticed:\n${mutant.diff}`)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A folder like this one, with sources and compiled files of its own. */
function sandbox () {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-mutants-'))
  // Some tests run as another user, too.
  chmodSync(folder, 0o755)
  // The folders of tests are in .tap: two sandboxes must not share them.
  for (const name of readdirSync('.').filter(name => name !== '.tap')) {
    const options = { recursive: true, verbatimSymlinks: true }
    if (name === 'build' || name === 'src') cpSync(name, join(folder, name), options)
    else symlinkSync(resolve(name), join(folder, name))
  }
  return folder
}

/** The name of the test that fails, 'the compiler', or undefined. */
async function noticedBy ({ file, text, original }, folder, limits) {
  const compiled = join(folder, 'build', file.replace(/ts$/, 'js'))
  const before = readFileSync(compiled)
  try {
    for (const name of TESTS[file]) {
      const command = [`build/test/${name}.test.js`]
      if (!limits.has(name)) {
        writeFileSync(compiled, before)
        const start = performance.now()
        const isSound = await succeeds(command, folder, 300_000) || await succeeds(command, folder, 300_000)
        if (!isSound && performance.now() < end) throw new Error(`${name} fails without any change`)
        limits.set(name, 10_000 + 4 * (performance.now() - start))
      }
      writeFileSync(compiled, transpiled(text))
      if (!await succeeds(command, folder, limits.get(name))) return name
    }
    writeFileSync(join(folder, file), text)
    const compiler = ['node_modules/typescript7/bin/tsc', '-p', 'tsconfig.build.json', '--noEmit']
    const compiles = await succeeds(compiler, folder, 60_000)
    return compiles ? undefined : 'the compiler'
  } finally {
    writeFileSync(compiled, before)
    writeFileSync(join(folder, file), original)
  }
}

/** @param limit milliseconds; at most until the end of the whole run */
async function succeeds (args, cwd, limit) {
  const env = { ...process.env, TAP_BAIL: '1', TAP_TIMEOUT: String(limit / 1000) }
  // In a group of its own: what a test has started ends with it.
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', output, output], detached: true })
  const timer = setTimeout(endGroup, Math.min(limit, end - performance.now()), child)
  const [code] = await once(child, 'exit')
  clearTimeout(timer)
  endGroup(child)
  return code === 0
}

function endGroup (child) {
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {} // nothing of it is left
}

function report () {
  const tried = sample.filter(({ key }) => known.has(key))
  const survivors = tried.filter(({ key }) => known.get(key).noticedBy === undefined)
  if (survivors.length > 0) console.log(`\nNot noticed:\n\n${survivors.map(({ diff }) => diff).join('\n')}`)
  for (const file of sources) {
    const [all, left] = [tried, survivors].map(list => list.filter(one => one.file === file).length)
    console.log(`${file.padEnd(40)} ${all - left} of ${all} noticed`)
  }
  const share = 100 * (1 - survivors.length / Math.max(1, tried.length))
  console.log(`${share.toFixed(1)} % of ${tried.length} changes noticed, ${sample.length - tried.length} not tried yet`)
  if (!(share >= Number(options.least))) process.exitCode = 1
}
