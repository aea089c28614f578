import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { contender } from '../contenders.js'
import type { Generator } from '../load/generator.js'
import type { LoadResult } from '../load/window.js'
import type { Options } from '../options.js'
import type { Round, Spec } from '../results.js'
import { median } from '../statistics.js'
import { openMongoDatabase } from './mongo-database.js'
import { countPlants, fillPlantsFile } from './plants-file.js'
import { apart } from './processor-time.js'
import { prove } from './prove.js'
import { freePort, startProcess } from './start-process.js'

/** The settings common to all servers of a run. */
export interface Bench extends Pick<Options, 'url' | 'mongodb' | 'environment' | 'warmUp' | 'duration'> {
  folder: string
  token: string
  generator: Generator
  wrk: Generator | undefined // for closed loops with growing ids
}

export type Subject = Awaited<ReturnType<typeof startSubject>>

/** Seconds at the start of each round that do not count: connections open, and caches fill. */
const leadIn = 0.5
/** A server that answers less than this share of an open loop's rate cannot keep up. */
const keptUpShare = 0.95

/** Starts a server with a store of its own, shows that it is right, and warms it up. It stays for all rounds. */
export async function startSubject ({ server, plants, distance, workers, case: name }: Spec, bench: Bench) {
  const { token, generator, wrk, url, warmUp, duration } = bench
  const { label, store, isOurs, ...chosen } = contender(server)
  const folder = mkdtempSync(join(bench.folder, `${server}-`))
  const file = join(folder, 'plants.db')
  if (plants !== undefined) await fillPlantsFile(file, plants)
  const mongo = store === 'mongodb' ? await openMongoDatabase(bench.mongodb, folder, distance) : undefined
  const metricsPort = name === 'commits' && isOurs ? await freePort() : undefined
  const environment = {
    ...chosen.environment,
    ACCESS_TOKENS: token,
    ...(mongo === undefined ? { DATA_DIR: folder } : { MONGODB_URL: mongo.url }),
    ...(workers === undefined ? {} : { WORKERS: String(workers) }),
    ...(metricsPort === undefined ? {} : { METRICS_PORT: String(metricsPort) }),
    ...(isOurs ? bench.environment : {})
  }
  const started = url === undefined ? await startProcess(chosen.module, { environment, logFile: join(folder, 'server.log') }) : undefined
  const pid = started?.pid
  const target = started?.address ?? url ?? ''
  const stop = async (): Promise<void> => {
    await started?.stop()
    await mongo?.stop()
  }
  let owed = plants ?? 0

  async function load (
    connections: number, rate: number | undefined, seconds: number, closedLoops = generator
  ): Promise<LoadResult> {
    const job = {
      url: target,
      token,
      areIdsRandom: plants !== undefined,
      connections,
      leadIn,
      duration: seconds,
      rate,
      pid
    }
    const result = await (rate === undefined
      ? closedLoops.run(job)
      : apart(generator.pid, pid, () => generator.run(job)))
    owed += result.acknowledged
    return result
  }
  try {
    owed += await prove(contender(server), target, token)
    // Always by a closed loop: compilers need load.
    await load(64, undefined, warmUp)
  } catch (error) {
    await stop()
    throw error
  }

  return {
    async round ({ connections, rate }: Spec): Promise<Round> {
      const before = await commits(metricsPort)
      const { answers, perSecond, latency, generatorBusy, processor, lateness } = await load(
        connections,
        rate,
        duration,
        plants === undefined ? wrk : undefined
      )
      const after = await commits(metricsPort)
      return {
        perSecond,
        latency,
        busiestThread: processor && per(processor.busiestThread * 1e6, answers),
        allThreads: processor && per(processor.allThreads * 1e6, answers),
        // An open loop naps instead of spinning, so that it looks busy all the time.
        generatorBusy: rate === undefined ? generatorBusy : undefined,
        lateness,
        keptUp: rate === undefined ? undefined : perSecond > rate * keptUpShare,
        plantsPerCommit: per(after.sum - before.sum, after.count - before.count)
      }
    },
    /** Stops it, and rejects if it holds fewer plants than it acknowledged. */
    async check (): Promise<void> {
      await started?.stop()
      const stored = store === 'sqlite' ? await countPlants(file) : await mongo?.count()
      if (stored !== undefined && stored < owed) throw new Error(`${label} acknowledged ${owed} plants and holds ${stored}`)
    },
    stop
  }
}

/** Milliseconds from starting the process to its first answer to a GET: the median of three starts. */
export async function firstAnswer ({ server }: Spec, { folder, token, environment }: Bench): Promise<Round> {
  const { module, environment: own } = contender(server)
  const times: number[] = []
  while (times.length < 3) {
    const port = await freePort()
    const live = `http://127.0.0.1:${port}/health/live`
    const start = performance.now()
    const { stop } = await startProcess(module, {
      environment: { ...own, ACCESS_TOKENS: token, DATA_DIR: folder, ...environment, PORT: String(port) },
      logFile: join(folder, 'start.log'),
      ready: async () => (await fetch(live, { headers: { connection: 'close' } }).catch(() => undefined))?.ok === true ? live : undefined
    })
    times.push(performance.now() - start)
    await stop()
  }
  return { firstAnswer: median(times) }
}

/** The service's own count of its commits, and of the plants in them. */
async function commits (metricsPort: number | undefined): Promise<{ count: number, sum: number }> {
  const text = metricsPort === undefined ? '' : await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const [sum = 0, count = 0] = ['sum', 'count'].map(name => Number(new RegExp(`^plant_store_batch_plants_${name} (\\S+)`, 'm').exec(text)?.[1] ?? 0))
  return { count, sum }
}

const per = (amount: number, count: number): number | undefined => count > 0 ? amount / count : undefined
