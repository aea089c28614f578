import { spawnSync } from 'node:child_process'
import { readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { join, resolve } from 'node:path'
import type { CaseName } from './plan.js'
import { describeSqlite } from './servers/sqlite.js'

/** A measurement to make once in every round. */
export interface Spec {
  case: CaseName
  server: string
  connections: number
  rate?: number // create requests per second; undefined for a closed loop
  distance?: number // ms of added round-trip time to MongoDB
}

/** In µs. */
export interface Percentiles { p50: number, p99: number, p999: number, max: number }

/** The figures of one round; those that do not apply are undefined. */
export interface Round {
  perSecond?: number | undefined // answers
  latency?: Percentiles | undefined
  busiestThread?: number | undefined // µs of the server's processor time for one answer
  allThreads?: number | undefined
  generator?: number | undefined // µs of the generator's processor time for one answer
  generatorBusy?: number | undefined // share of time in which a closed loop's generator was busy
  lateness?: number | undefined // µs, p99, by which an open loop's generator started requests late
  keptUp?: boolean | undefined // whether the server kept up with an open loop's rate
  plantsPerCommit?: number | undefined
}

export interface Measurement { spec: Spec, label: string, rounds: Round[] }

export interface Results {
  date: string
  command: string // repeats the run
  /** Times are in seconds. */
  method: Record<'rounds' | 'warmUp' | 'leadIn' | 'seconds' | 'latencySeconds', number> & { isPublished: boolean }
  machine: string
  versions: Record<string, string>
  mongodb?: { program: string, description: string } | undefined // that of --mongodb
  measurements: Measurement[]
}

export const connectionsText = (count: number): string => `${count} connection${count === 1 ? '' : 's'}`

export function specKey ({ case: name, server, connections, ...rest }: Spec): string {
  const others = Object.entries(rest).map(([field, value]) => `${field}=${value}`)
  return [name, server, connectionsText(connections), ...others].join(' ')
}

export async function versions (folder: string): Promise<Record<string, string>> {
  const commit = spawnSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).stdout
  const found: Record<string, string> = { 'plant-store': commit?.trim() || 'unknown', node: process.version.slice(1) }
  for (const name of ['fastify', '@fastify/bearer-auth', 'express', 'zod', 'mongodb']) {
    found[name] = JSON.parse(readFileSync(join('node_modules', name, 'package.json'), 'utf8')).version
  }
  return { ...found, SQLite: (await describeSqlite(join(folder, 'any.db'))).version }
}

export function machine (folder: string): string {
  const isTmpfs = statfsSync(folder).type === 0x01021994
  const size = `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`
  const stores = `stores ${isTmpfs ? 'in memory (tmpfs), not durable' : 'on disk'}`
  return `${cpus()[0]?.model.trim()}, ${size}, ${type()} ${release()}; ${stores}`
}

/** The folder of a run: a path, or a name below bench/results. */
export function resultsFolder (name: string): string {
  return name.includes('/') ? resolve(name.replace(/\/results\.json$/, '')) : resolve('bench/results', name)
}

/** @throws {Error} if there is no such run, or one of another version */
export function load (name: string): Results {
  const file = join(resultsFolder(name), 'results.json')
  const results = JSON.parse(readFileSync(file, 'utf8'))
  if (results.measurements?.[0]?.label === undefined) throw new Error(`${file} is not a saved run of this version`)
  return results
}
