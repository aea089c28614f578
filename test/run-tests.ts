import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect, parseArgs } from 'node:util'
import { Parser, type Result } from 'tap-parser'

// Runs compiled test files, each in its own process, several at once, and exits with 1 if one fails:
//
//   node build/test/run-tests.js [--jobs N] [--timeout SECONDS] [FILE or FOLDER…]
//
// It prints a line for each file as it ends, and at the end what was skipped and what failed. tap's own runner would
// cost each file 0.5 s of processor time, and each process that a test starts 0.2 s, for a loader that compiled tests
// do not need.

// Each has a script in package.json: they take long, or need programs that a machine may lack.
const RUN_BY_NAME = ['deployment', 'faults', 'mongodb']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    // More than there are processors on a small machine: these tests wait a lot.
    jobs: { type: 'string', default: '4' },
    timeout: { type: 'string', default: '300' }
  }
})
const [jobs, timeout] = [wholeNumber('jobs'), wholeNumber('timeout')]
const env: NodeJS.ProcessEnv = { ...process.env, TAP_TIMEOUT: String(timeout) }
// A folder in which each process and thread of the tests notes what it ran: see .ci/coverage.js.
if (process.env.COVERAGE !== undefined) {
  env.NODE_V8_COVERAGE = resolve(process.env.COVERAGE)
  mkdirSync(env.NODE_V8_COVERAGE, { recursive: true })
  // Also processes that a test starts as another user write there.
  chmodSync(env.NODE_V8_COVERAGE, 0o777)
}
const tests = fileURLToPath(new URL('.', import.meta.url))
// In CI a test that lacks a program fails.
const maySkip = process.env.TAP_FAIL_SKIP !== '1'
const skipped: string[] = []
const failed: string[] = []
let passed = 0

const waiting = positionals.length > 0 ? positionals.flatMap(filesIn) : filesToRunByDefault()
if (waiting.length === 0) refuse(`no test files in ${positionals.join(' ')}`)
const start = performance.now()
await Promise.all(Array.from({ length: jobs }, runWaiting))
report()

function refuse (fault: string): never {
  console.error(fault)
  process.exit(2)
}

function wholeNumber (name: keyof typeof values): number {
  const text = values[name]
  return /^[1-9]\d{0,4}$/.test(text) ? Number(text) : refuse(`--${name} must be from 1 to 99999, not "${text}"`)
}

function filesIn (path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false }) ?? refuse(`there is no ${path}`)
  if (!found.isDirectory()) return [path]
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' })
  return names.filter(name => name.endsWith('.test.js')).sort().map(name => join(path, name))
}

function filesToRunByDefault (): string[] {
  const folders = readdirSync(tests, { withFileTypes: true }).filter(entry => entry.isDirectory())
  const names = folders.map(({ name }) => name).filter(name => !RUN_BY_NAME.includes(name))
  return names.flatMap(name => filesIn(join(tests, name)))
}

async function runWaiting (): Promise<void> {
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) await runFile(file)
}

async function runFile (file: string): Promise<void> {
  const name = relative(tests, file).replace(/\.test\.js$/, '')
  const faults: string[] = []
  let asserts = 0
  const parser = new Parser()
  parser.on('result', (result: Result) => {
    asserts++
    if (result.skip !== false && maySkip) skipped.push(`${name}: ${result.fullname}: ${result.skip}`)
    else if (result.skip !== false) faults.push(`${result.fullname}\n  skipped: ${result.skip}`)
    else if (result.ok) passed++
    else faults.push(`${result.fullname}\n${details(result.diag)}`)
  })

  const begin = performance.now()
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'], env })
  child.stdout.pipe(parser)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text })
  // tap itself ends a test after the time-out, and says which.
  const kill = setTimeout(() => child.kill('SIGKILL'), (timeout + 10) * 1000)
  const [code, signal] = await once(child, 'close')
  clearTimeout(kill)

  if (asserts === 0) faults.push('it has no test')
  else if (faults.length === 0 && !parser.ok) faults.push(inspect(parser.results?.failures))
  if (faults.length === 0 && code !== 0) faults.push(`it ended with ${signal ?? code}`)
  failed.push(...faults.map(fault => `${name}: ${fault}`))
  const seconds = ((performance.now() - begin) / 1000).toFixed(1)
  const mark = faults.length === 0 ? '✓' : '✗'
  console.log(`${mark} ${name.padEnd(45)}${String(asserts).padStart(5)}${seconds.padStart(8)} s`)
  if (stderr !== '') console.log(stderr.trimEnd())
}

/** What tap says about a failure, without what its stack says too. */
function details (diag: Record<string, unknown> | null): string {
  const entries = Object.entries(diag ?? {}).filter(([key]) => key !== 'at' && key !== 'source')
  const lines = entries.map(([key, value]) => `  ${key}: ${typeof value === 'string' ? value : inspect(value)}`)
  return lines.join('\n').replace(/build\/\S+?\.js:\d+:\d+/g, inSource)
}

/** Where the source of a compiled place is: Node's own --enable-source-maps costs each file up to 0.6 s. */
function inSource (place: string): string {
  const [path = '', line, column] = place.split(':')
  if (!existsSync(`${path}.map`)) return place
  const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')))
  const entry = map.findEntry(Number(line) - 1, Number(column) - 1)
  if (!('originalSource' in entry)) return place
  const source = relative('.', resolve(dirname(path), entry.originalSource))
  return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
}

function report (): void {
  if (skipped.length > 0) console.log(`\nSkipped:\n${skipped.join('\n')}`)
  if (failed.length > 0) console.log(`\nFailed:\n${failed.join('\n\n')}`)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  const total = passed + skipped.length + failed.length
  const counts = { total, pass: passed, skip: skipped.length, fail: failed.length }
  console.log(`\n# ${inspect(counts)} in ${seconds} s`)
  if (failed.length > 0) process.exitCode = 1
}
