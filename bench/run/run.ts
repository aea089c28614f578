import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, release, tmpdir, totalmem, type } from 'node:os'
import { join, relative } from 'node:path'
import { describeMongo } from '../mongodb/mongo-database.js'
import { alternating, type Spec } from '../plan/cases.js'
import { nodeVersion, pocketBaseVersion } from '../plan/contenders.js'
import type { Options } from '../plan/options.js'
import { alternatingSteps } from '../alternation/steps.js'
import { header, page } from '../report/page.js'
import { load, resultsFolder, type Results } from '../report/results.js'
import { tables, wrapped } from '../report/tables.js'
import { sqliteVersion } from '../servers/stores/sqlite.js'
import { roundSteps } from './rounds.js'
import { runSteps } from './steps.js'

/** Measures, or reads a saved run; saves it, and prints its tables. */
export async function run (specs: readonly Spec[], options: Options, words: readonly string[]): Promise<void> {
  // First, so that what cannot be read or written fails before the measurements, not after them.
  const from = options.from === undefined ? undefined : load(options.from)
  const folder = resultsFolder(options.save)
  mkdirSync(folder, { recursive: true })
  const results = from ?? await measure(specs, options, words)
  const { pictureFiles, pictures } = await import('../report/pictures.js') // ECharts would load before the measurements
  const drawn = pictures(results)
  const files = { 'results.json': JSON.stringify(results, null, 1), 'page.html': page(results, drawn), ...drawn }
  for (const name of pictureFiles) rmSync(join(folder, name), { force: true }) // those of an earlier run
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  const more = `Pictures: ${relative('.', join(folder, 'page.html'))}`
  console.log([...wrapped(header(results)), tables(results), ...wrapped(more)].join('\n'))
}

async function measure (specs: readonly Spec[], options: Options, words: readonly string[]): Promise<Results> {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-bench-'))
  // start-process.ts added its listener earlier, so the processes that use this folder are killed first.
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))

  const { rounds, warmUp, leadIn, seconds, latencySeconds, isPublished } = options
  const mongodb = options.mongodb === undefined ? undefined : await describeMongo(options.mongodb)
  const settings = { ...options, folder, token: options.token ?? randomBytes(24).toString('base64url') }
  const date = new Date().toISOString()
  const alternations = alternatingSteps(specs.filter(spec => alternating.includes(spec.case)), settings)
  const others = roundSteps(specs.filter(spec => !alternating.includes(spec.case)), settings)
  try {
    await runSteps([...alternations.steps, ...others.steps])
    await others.check()
  } finally {
    await others.stop()
  }
  return {
    date,
    command: withoutFolder(withoutSecrets(['npm run bench', ...words.length > 0 ? ['--', ...words] : []].join(' '))),
    method: { rounds, warmUp, leadIn, seconds, latencySeconds, isPublished },
    machine: machine(options.url === undefined ? folder : undefined),
    versions: options.url === undefined ? await versions(options.pocketbase) : {},
    url: options.url,
    mongodb,
    measurements: [...others.measurements, ...alternations.measurements].map(({ spec, label, rounds }) => ({
      spec: withoutFolders(spec), label: label.replace('MongoDB', mongodb?.program ?? '$&'), rounds
    }))
  }
}

/** Removes the token, and the user and passwords of an address. */
function withoutSecrets (command: string): string {
  return command.replace(/((?:--token[ =]|password=))[^\s&]+/gi, '$1…').replace(/\/\/[^@/ ]*@/g, '//')
}

/** Removes the folders of absolute paths, which say nothing to readers. */
function withoutFolder (text: string): string {
  return text.replace(/(^|[\s,=@])\/(?:[^\s,@/]+\/)+/g, '$1')
}

function withoutFolders (spec: Spec): Spec {
  const node = spec.node === undefined ? undefined : nodeVersion(spec.node)
  return { ...spec, server: withoutFolder(spec.server), node }
}

async function versions (pocketbase: string | undefined): Promise<Record<string, string>> {
  const commit = spawnSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).stdout
  const found: Record<string, string> = { 'plant-store': commit?.trim() || 'unknown', node: process.version.slice(1) }
  if (pocketbase !== undefined) found.PocketBase = pocketBaseVersion(pocketbase)
  for (const name of ['fastify', '@fastify/bearer-auth', 'express', 'zod', 'json-server', 'mongodb']) {
    found[name] = JSON.parse(readFileSync(join('node_modules', name, 'package.json'), 'utf8')).version
  }
  return { ...found, SQLite: await sqliteVersion() }
}

/** @param folder of the stores; undefined if they are on another machine */
function machine (folder: string | undefined): string {
  const size = `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`
  const text = `${cpus()[0]?.model.trim()}, ${size}, ${type()} ${release()}`
  if (folder === undefined) return text
  const isTmpfs = statfsSync(folder).type === 0x01021994
  return `${text}; stores ${isTmpfs ? 'in memory (tmpfs), not durable' : 'on disk'}`
}
