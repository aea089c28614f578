import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { closedLoop } from '../load/closed-loop.js'
import type { Round } from '../load/measurement-window.js'
import { openLoop } from '../load/open-loop.js'
import { openMongoDatabase } from '../mongodb/mongo-database.js'
import type { Spec } from '../plan/cases.js'
import { variant } from '../plan/contenders.js'
import type { Options } from '../plan/options.js'
import { describeSqlite } from '../servers/stores/sqlite.js'
import { checkAnswers } from './check-answers.js'
import { startProcess } from './start-process.js'

/** The settings common to all servers of a run. */
export type RunSettings = Options & { folder: string, token: string }

export type MeasuredServer = Awaited<ReturnType<typeof startMeasuredServer>>

/** Starts a server with its own store, checks it, and warms it up. It keeps running for all rounds. */
export async function startMeasuredServer ({ server, distance, case: name }: Spec, settings: RunSettings) {
  const { token, url, warmUp, leadIn, seconds, latencySeconds } = settings
  const contender = variant(server)
  const { label, store, module, node } = contender
  const folder = mkdtempSync(join(settings.folder, `${store}-`))
  const mongo = store === 'mongodb' ? await openMongoDatabase(settings.mongodb, folder, distance) : undefined
  const environment: Record<string, string> = { ...contender.environment, ACCESS_TOKENS: token, DATA_DIR: folder }
  if (mongo !== undefined) environment.MONGODB_URL = mongo.url
  if (name === 'commits') environment.METRICS_PORT = '0'
  const logFile = join(folder, 'server.log')
  const started = url === undefined ? await startProcess(module, { node, environment, logFile }) : undefined
  const target = started?.address ?? url ?? ''
  const metricsPort = /metrics on port (\d+)/.exec(started?.output ?? '')?.[1]
  let owed = 0

  async function load (connections: number, rate: number | undefined, duration: number): Promise<Round> {
    const job = { url: target, token, connections, leadIn, duration, pid: started?.pid }
    const { acknowledged, ...figures } = rate === undefined ? await closedLoop(job) : await openLoop(job, rate)
    owed += acknowledged
    return figures
  }

  async function stop (): Promise<void> {
    await started?.stop()
    await mongo?.stop()
  }

  try {
    owed += await checkAnswers(contender, target, token)
    // With a closed loop in every case, as V8 optimizes only code that runs often.
    await load(64, undefined, warmUp)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    async round ({ connections, rate }: Spec): Promise<Round> {
      const before = await commits(metricsPort)
      const figures = await load(connections, rate, rate === undefined ? seconds : latencySeconds)
      const after = await commits(metricsPort)
      return { ...figures, plantsPerCommit: (after.sum - before.sum) / (after.count - before.count) || undefined }
    },
    /** Stops the server, and rejects unless it has stored what it acknowledged, where that can be counted. */
    async check (): Promise<void> {
      await started?.stop()
      const file = store === 'sqlite' ? await describeSqlite(join(folder, 'plants.db')) : undefined
      const stored = file?.plants ?? await mongo?.count()
      if (stored !== undefined && stored !== owed) {
        throw new Error(`${label} acknowledged ${owed} plants but stored ${stored}`)
      }
    },
    stop
  }
}

/** The number of commits so far, and of the plants in them, from the service's metrics. */
async function commits (port: string | undefined): Promise<{ count: number, sum: number }> {
  const text = port === undefined ? '' : await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const valueOf = (name: string): number =>
    Number(new RegExp(`^plant_store_batch_plants_${name} (\\S+)`, 'm').exec(text)?.[1] ?? 0)
  return { count: valueOf('count'), sum: valueOf('sum') }
}
