import { spawnSync } from 'node:child_process'
import { readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { join, resolve } from 'node:path'
import type { CaseName } from './cases.js'
import { describeSqlite } from './servers/stores/sqlite-file.js'
import type { Percentiles } from './statistics.js'

/** A measurement to make once in every round. */
export interface Spec {
  case: CaseName
  server: string
  connections: number
  rate?: number // create requests per second; undefined for a closed loop
  distance?: number // ms of added round-trip time to MongoDB
}

/** The figures of one round; those that do not apply are undefined. */
export interface Round {
  perSecond?: number | undefined // answers
  latency?: Percentiles | undefined // µs
  busiestThread?: number | undefined // µs of the server's processor time for one answer
  allThreads?: number | undefined
  generator?: number | undefined // µs of the generator's processor time for one answer
  generatorBusy?: number | undefined // share of time in which a closed loop's generator was busy
  lateness?: number | undefined // µs, p99, by which an open loop's generator started requests late
  keptUp?: boolean | undefined // whether the server kept up with an open loop's rate
  plantsPerCommit?: number | undefined
  firstAnswer?: number | undefined // ms from the start of the process
}

export interface Measurement { spec: Spec, rounds: Round[] }

export interface Results {
  date: string
  command: string // repeats the run
  /** Times are in seconds; the environment is plant-store's; `isSteady`: the rounds of bare agree within 10 %. */
  method: Record<'rounds' | 'latencyRounds' | 'warmUp' | 'leadIn' | 'seconds' | 'latencySeconds' | 'disturbedRounds', number> &
    { environment: string, isGeneratorApart: boolean, isPublished: boolean, isSteady: boolean | undefined }
  machine: string
  versions: Record<string, string>
  mongodb?: { address: string, buildInfo: Record<string, unknown> } | undefined // as reported by --mongodb
  notCounted?: string[] | undefined // servers whose stored plants could not be counted at the end
  measurements: Measurement[]
}

export const connectionsText = (count: number): string => `${count} connection${count === 1 ? '' : 's'}`

export function specKey ({ case: name, server, connections, ...rest }: Spec): string {
  return [name, server, connectionsText(connections), ...Object.entries(rest).map(([field, value]) => `${field}=${value}`)].join(' ')
}

export async function versions (folder: string): Promise<Record<string, string>> {
  const installed = ['fastify', '@fastify/bearer-auth', 'express', 'zod', 'mongodb', 'autocannon'].map((name): [string, string] => [name, JSON.parse(readFileSync(join('node_modules', name, 'package.json'), 'utf8')).version])
  const commit = spawnSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).stdout
  return { 'plant-store': commit?.trim() || 'unknown', node: process.version.slice(1), ...Object.fromEntries(installed), SQLite: await describeSqlite(folder) }
}

export function machine (folder: string): string {
  const isTmpfs = statfsSync(folder).type === 0x01021994
  return `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}; stores ${isTmpfs ? 'in memory (tmpfs), not durable' : 'on disk'}`
}

/** The folder of a run: a path, or a name below bench/results. */
export function resultsFolder (name: string): string {
  return name.includes('/') ? resolve(name.replace(/\/results\.json$/, '')) : resolve('bench/results', name)
}

export function load (name: string): Results {
  return JSON.parse(readFileSync(join(resultsFolder(name), 'results.json'), 'utf8'))
}
