import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { contender, namedService } from './contenders.js'
import type { Contender } from './contenders.js'
import { fullRate } from './full-rate.js'
import type { LoadJob } from './load-job.js'
import { forkedLoad } from './forked-load.js'
import type { ForkedLoad } from './forked-load.js'
import { mongoTarget } from './mongo-target.js'
import { peakMemory, processorSeconds } from './process-cost.js'
import { prove } from './prove.js'
import { countRows, runServer } from './run-server.js'
import type { RunningServer } from './run-server.js'
import type { Measurement, Round, Spec } from './spec.js'
import { forkModule } from './start-process.js'
import { startTime } from './start-time.js'

export interface Bench {
  folder: string
  token: string
  warmUp: number
  duration: number
  generator: 'autocannon' | 'lean'
  /** Address of a running service, instead of servers started here. */
  url?: string | undefined
  mongodb?: string | undefined
  environment: Record<string, string>
  pin: boolean
  /** Database files with so many plants. */
  databaseFiles: Map<number, string>
}

/** One round of one spec: everything is started for it, proven, warmed up, measured, counted, stopped. */
export async function measure (spec: Spec, bench: Bench, soFar: readonly Measurement[]): Promise<Round> {
  if (spec.kind === 'start') return await measureStart(spec, bench)
  if (spec.kind === 'insert-many') return await measureInsertMany(bench)
  return await measureServer(spec, bench, soFar)
}

async function measureServer (spec: Spec, bench: Bench, soFar: readonly Measurement[]): Promise<Round> {
  const subject = bench.url === undefined ? contender(spec.server) : namedService(bench.url)
  const databaseFile = bench.databaseFiles.get(spec.plants ?? 0)
  const before = databaseFile === undefined ? 0 : countRows(databaseFile)
  const generator = forkedLoad(bench.pin ? 1 : undefined)
  let server: RunningServer | undefined
  try {
    server = bench.url === undefined
      ? await runServer(subject, {
        token: bench.token,
        folder: bench.folder,
        databaseFile,
        mongodb: spec.mongodb === 'given' ? bench.mongodb : undefined,
        distance: spec.distance,
        environment: bench.environment,
        pin: bench.pin ? 0 : undefined
      })
      : undefined
    const url = server?.url ?? bench.url as string
    const proven = await prove(subject, url, bench.token)
    const rate = typeof spec.rate === 'object' ? Math.round(fullRate(spec, soFar) * spec.rate.share) : spec.rate
    const { round, acknowledged } = await load(generator, jobOf(spec, subject, url, bench, rate), server?.pid)
    const stored = await server?.stopAndCount()
    const owed = before + proven + (storesAll(spec) ? acknowledged : 0)
    if (stored !== undefined && stored < owed) {
      throw new Error(`${subject.label} acknowledged ${owed} plants and holds ${stored}`)
    }
    return { ...round, ...(server?.measuredDistance === undefined ? {} : { measuredDistance: server.measuredDistance }) }
  } finally {
    await generator.stop()
    await server?.stop()
  }
}

/** Cases in which every 200 is a plant of its own. */
function storesAll (spec: Spec): boolean {
  return spec.caseName !== 'same' && spec.caseName !== 'mix'
}

function jobOf (spec: Spec, subject: Contender, url: string, bench: Bench, rate: number | undefined): LoadJob {
  return {
    target: { url, token: bench.token, takesSameAgain: subject.cannot.same === undefined, hasErrorCodes: subject.isOurs },
    caseName: spec.caseName,
    order: spec.order,
    connections: spec.connections,
    warmUp: bench.warmUp,
    duration: bench.duration,
    generator: bench.generator,
    ...(rate === undefined ? {} : { rate })
  }
}

async function load (generator: ForkedLoad, job: LoadJob, pid: number | undefined): Promise<{ round: Round, acknowledged: number }> {
  let openedAt: number | undefined
  let used: number | undefined
  let memory: number | undefined
  const result = await generator.run(job, {
    opened () { openedAt = pid === undefined ? undefined : processorSeconds(pid) },
    closed () {
      const now = pid === undefined ? undefined : processorSeconds(pid)
      if (now !== undefined && openedAt !== undefined) used = now - openedAt
      memory = pid === undefined ? undefined : peakMemory(pid)
    }
  })
  const { answers, seconds, latency, generatorBusy, unanswered, lateness, acknowledged } = result
  return {
    acknowledged,
    round: {
      perSecond: answers / seconds,
      latency,
      generatorBusy,
      unanswered,
      ...(used === undefined ? {} : { processorMicros: used * 1e6 / answers }),
      ...(memory === undefined ? {} : { peakMemory: memory }),
      ...(lateness === undefined ? {} : { lateness }),
      ...(job.rate === undefined ? {} : { rate: job.rate })
    }
  }
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
