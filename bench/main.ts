import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { messageOf } from '../src/error-message.js'
import { help, readOptions, type Options } from './options.js'
import { plan } from './plan.js'
import { pictures } from './report/pictures.js'
import { header, page, tables, wrapped } from './report/tables.js'
import { load, machine, resultsFolder, versions, type Results } from './results.js'
import { describeMongo } from './run/mongo-database.js'
import { runRounds } from './run/rounds.js'

const clearLine = process.stderr.isTTY ? '\r\u001b[K' : ''
try {
  await main(process.argv.slice(2))
} catch (error) {
  console.error(`${clearLine}bench: ${messageOf(error)}`)
  process.exitCode = error instanceof TypeError ? 2 : 1
}
// Servers may still be running after an error: they are killed at exit.
process.exit()

async function main (words: readonly string[]): Promise<void> {
  const options = readOptions(words)
  if (options.help) return console.log(help)
  // First, so that what cannot be read or written fails before the measurements, not after them.
  const from = options.from === undefined ? undefined : load(options.from)
  const folder = resultsFolder(options.save ?? options.from ?? 'latest')
  mkdirSync(folder, { recursive: true })
  const results = from ?? await measure(options, words)
  const drawn = pictures(results)
  const files = { 'results.json': JSON.stringify(results, null, 1), 'page.html': page(results, drawn), ...drawn }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  process.stderr.write(clearLine)
  const more = `All figures, and pictures: ${relative('.', join(folder, 'page.html'))}`
  console.log(wrapped([header(results), tables(results), more].join('\n')))
}

async function measure (options: Options, words: readonly string[]): Promise<Results> {
  const specs = plan(options)
  if (specs.length === 0) throw new TypeError('no server takes part in any --case')
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-bench-'))
  // start-process.ts added its listener earlier, so the processes that use this folder are killed first.
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))

  const { mongodb: address, rounds, warmUp, leadIn, seconds, latencySeconds, isPublished } = options
  const mongodb = address === undefined ? undefined : await describeMongo(address)
  const token = options.token ?? randomBytes(24).toString('base64url')
  const date = new Date().toISOString()
  const measurements = await runRounds(specs, rounds, { ...options, folder, token })
  return {
    date,
    command: withoutSecrets(['npm run bench', ...words.length > 0 ? ['--', ...words] : []].join(' ')),
    method: { rounds, warmUp, leadIn, seconds, latencySeconds, isPublished },
    machine: machine(folder),
    versions: await versions(folder),
    mongodb,
    measurements: measurements.map(one => ({ ...one, label: one.label.replace('MongoDB', mongodb?.program ?? '$&') }))
  }
}

/** Removes the token, and the user and passwords of an address. */
function withoutSecrets (command: string): string {
  return command.replace(/((?:--token[ =]|password=))[^\s&]+/gi, '$1…').replace(/\/\/[^@/ ]*@/g, '//')
}
