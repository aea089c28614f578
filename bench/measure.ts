import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { contender } from './contenders.js'
import type { ForkedLoad } from './forked-load.js'
import { fullRate } from './full-rate.js'
import { mongoTarget } from './mongo-target.js'
import type { Processors } from './processors.js'
import type { Measurement, Round, Spec } from './spec.js'
import { forkModule } from './start-process.js'
import { startTime } from './start-time.js'
import type { Subjects } from './subjects.js'

export interface Bench {
  folder: string
  token: string
  /** Seconds before the first round of a spec, thrown away: compilers need them. */
  warmUp: number
  duration: number
  generator: 'autocannon' | 'lean'
  /** Address of a running service, instead of servers started here. */
  url?: string | undefined
  mongodb?: string | undefined
  environment: Record<string, string>
  /** Where the generator has a processor of its own all the time. */
  pin?: Processors | undefined
  /** Database files with so many plants. */
  databaseFiles: Map<number, string>
  /** One for all: it has to be warm as well. */
  load: ForkedLoad
}

/** One round of one spec. */
export async function measure (spec: Spec, bench: Bench, subjects: Subjects, soFar: readonly Measurement[]): Promise<Round> {
  if (spec.kind === 'start') return await measureStart(spec, bench)
  if (spec.kind === 'insert-many') return await measureInsertMany(bench)
  const rate = typeof spec.rate === 'object' ? Math.round(fullRate(spec, soFar) * spec.rate.share) : spec.rate
  return await (await subjects.of(spec)).round(spec, rate)
}

async function measureStart (spec: Spec, bench: Bench): Promise<Round> {
  const folder = inFolder(bench.folder, 'start-')
  try {
    const command = spec.server === 'hello-fastify'
      ? { arguments: ['bench/servers/hello-fastify.mjs'], environment: { NODE_ENV: 'production' } }
      : contender(spec.server).command
    const times: number[] = []
    for (let turn = 0; turn < 3; turn++) times.push(await startTime(command, bench.token, folder))
    return { perSecond: 1000 / Math.min(...times) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureInsertMany (bench: Bench): Promise<Round> {
  const folder = inFolder(bench.folder, 'insert-many-')
  const mongo = await mongoTarget(bench.mongodb, folder, undefined)
  const words = [mongo.url, String(bench.warmUp), String(bench.duration)]
  const { child, stop } = forkModule(new URL('insert-many-loop.js', import.meta.url), undefined, words)
  try {
    return await new Promise<Round>((resolve, reject) => {
      child.on('message', (found: Round) => resolve(found))
      child.on('exit', (code) => reject(new Error(`the insertMany loop ended by itself: ${code}`)))
    })
  } finally {
    await stop()
    await mongo.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

function inFolder (folder: string, prefix: string): string {
  mkdirSync(folder, { recursive: true })
  return mkdtempSync(join(folder, prefix))
}
