import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { contender } from '../contenders.js'
import type { Generator } from '../load/generator.js'
import type { LoadResult } from '../load/window.js'
import type { Options } from '../options.js'
import type { Round, Spec } from '../results.js'
import { countPlants } from '../servers/stores/sqlite-file.js'
import { openMongoDatabase } from './mongo-database.js'
import { apart } from './processor-time.js'
import { prove } from './prove.js'
import { startProcess } from './start-process.js'

/** The settings common to all servers of a run. */
export interface Bench extends Pick<Options, 'url' | 'mongodb' | 'environment' | 'warmUp' | 'seconds' | 'latencyRounds' | 'latencySeconds'> {
  folder: string
  token: string
  generator: Generator
}

export type Subject = Awaited<ReturnType<typeof startSubject>>

/** Seconds at the start of each round that are not measured: connections open, and caches fill. */
export const leadInOf = (seconds: number): number => Math.min(0.5, seconds)

/** Starts a server with its own store, checks it, and warms it up. It keeps running for all rounds. */
export async function startSubject ({ server, distance, case: name }: Spec, bench: Bench) {
  const { token, generator, url, warmUp, seconds, latencySeconds } = bench
  const { label, store, isOurs, ...chosen } = contender(server)
  const folder = mkdtempSync(join(bench.folder, `${server}-`))
  const file = join(folder, 'plants.db')
  const mongo = store === 'mongodb' ? await openMongoDatabase(bench.mongodb, folder, distance) : undefined
  const environment = {
    ...chosen.environment,
    ACCESS_TOKENS: token,
    ...(mongo === undefined ? { DATA_DIR: folder } : { MONGODB_URL: mongo.url }),
    ...(name === 'commits' ? { METRICS_PORT: '0' } : {}),
    ...(isOurs ? bench.environment : {})
  }
  const started = url === undefined ? await startProcess(chosen.module, { environment, logFile: join(folder, 'server.log') }) : undefined
  const pid = started?.pid
  const target = started?.address ?? url ?? ''
  const metricsPort = /metrics on port (\d+)/.exec(started?.output ?? '')?.[1]
  const stop = async (): Promise<void> => {
    await started?.stop()
    await mongo?.stop()
  }
  let owed = 0

  async function load (connections: number, rate: number | undefined, duration: number): Promise<LoadResult> {
    const job = { url: target, token, connections, leadIn: leadInOf(seconds), duration, rate, pid }
    const result = await (rate === undefined ? generator.run(job) : apart(() => generator.run(job), generator.pid, pid))
    owed += result.acknowledged
    return result
  }
  try {
    owed += await prove(contender(server), target, token)
    // With a closed loop in every case, as V8 optimizes only code that runs often.
    await load(64, undefined, warmUp)
  } catch (error) {
    await stop()
    throw error
  }

  return {
    label,
    async round ({ connections, rate }: Spec): Promise<Round> {
      const before = await commits(metricsPort)
      const result = await load(connections, rate, rate === undefined ? seconds : latencySeconds)
      const after = await commits(metricsPort)
      const { answers, perSecond, latency, generatorBusy, generatorTime, processor, lateness } = result
      return {
        perSecond,
        latency,
        busiestThread: processor?.busiestThread && per(processor.busiestThread * 1e6, answers),
        allThreads: processor && per(processor.allThreads * 1e6, answers),
        generator: per(generatorTime * 1e6, answers),
        // Meaningless for an open loop, whose short sleeps count as busy time.
        generatorBusy: rate === undefined ? generatorBusy : undefined,
        lateness,
        keptUp: rate === undefined ? undefined : perSecond > rate * 0.95,
        plantsPerCommit: per(after.sum - before.sum, after.count - before.count)
      }
    },
    /** Stops the server, and rejects unless it has stored the plants that it acknowledged; false if not counted. */
    async check (): Promise<boolean> {
      await started?.stop()
      const stored = store === 'sqlite' ? await countPlants(file) : await mongo?.count()
      if (stored !== undefined && stored !== owed) throw new Error(`${label} acknowledged ${owed} plants but stored ${stored}`)
      return stored !== undefined || (store === 'none' && url === undefined)
    },
    stop
  }
}

/** Milliseconds from starting the process to its first answer to a GET. */
export async function firstAnswer ({ server }: Spec, { folder, token, environment }: Bench): Promise<Round> {
  const { module, environment: own } = contender(server)
  const start = performance.now()
  const full = { ...own, ACCESS_TOKENS: token, DATA_DIR: folder, ...environment }
  const { address, stop } = await startProcess(module, { environment: full, logFile: join(folder, 'start.log') })
  const response = await fetch(`${address}/health/live`)
  await response.text()
  const firstAnswer = performance.now() - start
  await stop()
  if (!response.ok) throw new Error(`GET /health/live has the status ${response.status}`)
  return { firstAnswer }
}

/** The number of commits so far, and of the plants in them, from the service's metrics. */
async function commits (metricsPort: string | undefined): Promise<{ count: number, sum: number }> {
  const text = metricsPort === undefined ? '' : await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const [sum = 0, count = 0] = ['sum', 'count'].map(name => Number(new RegExp(`^plant_store_batch_plants_${name} (\\S+)`, 'm').exec(text)?.[1] ?? 0))
  return { count, sum }
}

const per = (amount: number, count: number): number | undefined => count > 0 ? amount / count : undefined
