import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../src/error-message.js'
import { startGenerator } from './load/generator.js'
import { help, readOptions, WrongOption, type Options } from './options.js'
import { plan } from './plan.js'
import { changes, differences } from './report/changes.js'
import { page } from './report/page.js'
import { pictures } from './report/pictures.js'
import { header, summary } from './report/summary.js'
import { tables } from './report/tables.js'
import { load, machine, resultsFolder, versions, type Results } from './results.js'
import { describeMongo } from './run/mongo-database.js'
import { canRunApart } from './run/processor-time.js'
import { runRounds } from './run/rounds.js'
import { leadInOf } from './run/subject.js'

const clearLine = process.stderr.isTTY ? '\r\u001b[K' : ''
try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  console.error(`${clearLine}bench: ${messageOf(error)}`)
  process.exitCode = error instanceof WrongOption || error instanceof TypeError ? 2 : 1
}
// The load generator is still running: it is killed at exit.
process.exit()

async function main (words: readonly string[]): Promise<number> {
  const options = readOptions(words)
  if (options.help) {
    console.log(help)
    return 0
  }
  // First, so that what cannot be read or written fails before the measurements, not after them.
  const before = options.compare === undefined ? undefined : saved(options.compare)
  const from = options.from === undefined ? undefined : saved(options.from)
  const folder = resultsFolder(options.save ?? options.from ?? 'latest')
  mkdirSync(folder, { recursive: true })
  const results = from ?? await measure(options, words)
  const [head, text, drawn] = [header(results), tables(results, before), pictures(results)]
  const lines = [...summary(results), ...before === undefined ? [] : differences(before, results)]
  const files = { 'results.json': JSON.stringify(results, null, 1), 'page.html': page(head, lines, Object.values(drawn), text), ...drawn }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  process.stderr.write(clearLine)
  console.log([head, `${text}${lines.join('\n')}\n`, join(folder, 'page.html')].join('\n'))
  return before !== undefined && [...changes(before, results).values()].some(change => change.endsWith('WORSE')) ? 1 : 0
}

/** @throws {Error} if there is no such run, or it cannot be shown */
function saved (name: string): Results {
  try {
    const results = load(name)
    header(results)
    tables(results)
    return results
  } catch (error) {
    throw new Error(`"${name}" is not a saved run: ${messageOf(error)}`)
  }
}

async function measure (options: Options, words: readonly string[]): Promise<Results> {
  const specs = plan(options)
  if (specs.length === 0) throw new WrongOption('none of --servers takes part in any --case')
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-bench-'))
  // start-process.ts added its listener earlier, so the processes that use this folder are killed first.
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))

  const { url, mongodb, rounds, latencyRounds, warmUp, seconds, latencySeconds, isPublished, token = randomBytes(24).toString('base64url') } = options
  const environment = withoutSecrets(Object.entries(options.environment).map(pair => pair.join('=')).join(' '))
  const bench = { ...options, folder, token, generator: startGenerator() }
  const date = new Date().toISOString()
  const { disturbedRounds, isSteady, ...measured } = await runRounds(specs, rounds, isPublished, bench)
  const folderOf = options.save === undefined || words.join().includes('--save') ? [] : ['--save', options.save]
  const leadIn = leadInOf(seconds)
  const method = { rounds, latencyRounds, warmUp, leadIn, seconds, latencySeconds, environment, isPublished }
  return {
    date,
    command: withoutSecrets(`npm run bench -- ${[...words, ...folderOf].join(' ')}`.replace(/ -- $/, '')),
    method: { ...method, isGeneratorApart: url === undefined && canRunApart(), disturbedRounds, isSteady },
    machine: machine(folder),
    versions: await versions(folder),
    mongodb: mongodb === undefined ? undefined : await describeMongo(mongodb),
    ...measured
  }
}

/** Removes the token, and the user and passwords of an address. */
function withoutSecrets (command: string): string {
  return command.replace(/((?:--token[ =]|password=))[^\s&]+/gi, '$1…').replace(/\/\/[^@/ ]*@/g, '//')
}
