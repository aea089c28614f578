import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compare } from './compare.js'
import { forkedLoad } from './forked-load.js'
import { machine } from './machine.js'
import type { Bench } from './measure.js'
import { help, readOptions, WrongOption } from './options.js'
import type { Options } from './options.js'
import { plan } from './plan.js'
import { processors } from './processors.js'
import { progress } from './progress.js'
import { load, resultsFile, save } from './results.js'
import type { Results } from './results.js'
import { runRounds } from './rounds.js'
import { comparisonTable, measurementTables, targetTable } from './report/table.js'
import { judge, targets, targetSpecs } from './targets.js'
import type { Target } from './targets.js'

process.exitCode = await main().catch((error: Error) => {
  console.error(`${process.stderr.isTTY ? '\r\u001b[K' : ''}bench: ${error.message}`)
  return error instanceof WrongOption ? 2 : 1
})

async function main (): Promise<number> {
  const caller = process.cwd()
  const options = readOptions(process.argv.slice(2))
  if (options.help) return say(help)
  const rows = chosenTargets(options)
  if (options.targets?.includes('list') === true) return say(rows.map(({ name, what }) => `${name.padEnd(16)} ${what}\n`).join(''))
  // A name that cannot be used should be heard of now, not after the measurements.
  const before = options.compare === undefined ? undefined : load(options.compare)
  const name = options.save ?? 'latest'
  resultsFile(name, 'json')
  process.chdir(fileURLToPath(new URL('..', import.meta.url)))

  const parent = options.folder === undefined ? tmpdir() : resolve(caller, options.folder)
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'plant-store-bench-'))
  // start-process.ts put its own listener there when it was imported: the processes go first, then what they wrote.
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130))

  const results = await run(options, rows, folder, name)
  const { page } = await import('./report/page.js')
  save(results, page(results, before))
  if (options.picture !== undefined) {
    const { picture } = await import('./report/picture.js')
    writeFileSync(resolve(caller, options.picture), picture(results))
  }
  return report(results, before)
}

async function run (options: Options, rows: Target[], folder: string, name: string): Promise<Results> {
  const specs = options.targets === undefined ? plan(options) : targetSpecs(rows, options.mongodb !== undefined)
  if (specs.length === 0) throw new WrongOption('nothing to measure: the chosen servers and cases do not meet')
  if (options.url === undefined && specs.some(({ server }) => server.startsWith('ours')) && !existsSync('dist')) {
    throw new Error('dist is missing: npm run build (npm run bench does it)')
  }
  const rounds = options.rounds ?? (options.targets === undefined ? 3 : 9)
  const pin = options.pin ? processors() : undefined
  if (options.pin && pin === undefined) throw new WrongOption('--pin needs two processors and taskset (util-linux)')
  const bench: Bench = {
    folder,
    token: options.token ?? randomBytes(24).toString('base64url'),
    warmUp: options.warmUp ?? (options.targets === undefined ? 3 : 8),
    duration: options.duration ?? (options.targets === undefined ? 1.5 : 2),
    generator: options.generator,
    url: options.url,
    mongodb: options.mongodb,
    environment: options.environment,
    pin,
    databaseFiles: new Map(),
    load: forkedLoad(pin?.generator)
  }
  const told = progress(process.stderr, specs.length * rounds)
  const measurements = await runRounds(specs, rounds, bench, told).finally(bench.load.stop)
  told.line('')
  const { warmUp, duration, generator, environment } = bench
  return {
    name,
    date: new Date().toISOString(),
    machine: machine(folder),
    options: { rounds, warmUp, duration, generator, pin: pin !== undefined, environment },
    measurements,
    ...(options.targets === undefined ? {} : { targets: judge(rows, measurements) })
  }
}

function report (results: Results, before: Results | undefined): number {
  say(`${results.machine.text}\nstores on: ${results.machine.disk}; ${results.date.slice(0, 10)}, ${results.machine.commit}\n\n`)
  say(measurementTables(results))
  if (results.targets !== undefined) say(targetTable(results.targets))
  const comparisons = before === undefined ? [] : compare(before, results)
  if (before !== undefined) say(comparisonTable(comparisons, before.name))
  say(`${fileURLToPath(resultsFile(results.name, 'html'))}\n`)
  if (before !== undefined && comparisons.length === 0) throw new Error(`nothing in this run was measured in ${before.name} too`)
  return comparisons.some(({ verdict }) => verdict === 'worse') ? 1 : 0
}

function chosenTargets (options: Options): Target[] {
  const all = targets(options.plants)
  const names = options.targets ?? []
  if (names.includes('all') || names.includes('list')) return all
  for (const name of names) {
    if (!all.some((row) => row.name === name)) throw new WrongOption(`--targets ${name}: must be of ${all.map((row) => row.name).join(', ')}`)
  }
  return all.filter(({ name }) => names.includes(name))
}

function say (text: string): 0 {
  process.stdout.write(text)
  return 0
}
