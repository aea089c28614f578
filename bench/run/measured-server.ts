import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { closedLoop } from '../load/closed-loop.js'
import type { LoadJob, Round } from '../load/measurement-window.js'
import { oneByOne } from '../load/one-by-one.js'
import { openLoop } from '../load/open-loop.js'
import type { Spec } from '../plan/cases.js'
import { variant, type Contender } from '../plan/contenders.js'
import type { Options } from '../plan/options.js'
import { checkAnswers } from './check-answers.js'
import { openServerStore, type ServerStore } from './server-store.js'
import { startProcess } from './start-process.js'

/** The settings common to all servers of a run. */
export type RunSettings = Options & { folder: string, token: string }

/** In the case `stored`, the most plants that a round, or the warm-up, adds to those that were there before. */
const CREATES = 100

export type MeasuredServer = Awaited<ReturnType<typeof startMeasuredServer>>

/** Starts a server with its own store, checks it, and warms it up. It keeps running for all rounds. */
export async function startMeasuredServer (spec: Spec, settings: RunSettings) {
  const { url, warmUp, leadIn, seconds, latencySeconds } = settings
  const contender = variant(spec.server)
  const { label, api } = contender
  const folder = mkdtempSync(join(settings.folder, `${contender.store}-`))
  const store = await openServerStore(contender, spec, settings, folder)
  const started = url === undefined ? await startServer(contender, store, spec, settings, folder) : undefined
  const target = started?.address ?? url ?? ''
  const token = store.token ?? settings.token
  const metricsPort = /metrics on port (\d+)/.exec(started?.output ?? '')?.[1]
  let owed = spec.stored ?? 0
  let isOwedCertain = true

  async function load ({ connections, rate, stored }: Spec, duration: number): Promise<Round> {
    const job = { url: target, token, api, connections, leadIn, duration, pid: started?.pid }
    const { acknowledged, ...figures } = await loop(job, rate, stored)
    owed += acknowledged
    if (stored !== undefined && figures.keptUp === false) isOwedCertain = false
    return figures
  }

  async function stop (): Promise<void> {
    await started?.stop()
    await store.stop?.()
  }

  try {
    owed += await checkAnswers(contender, target, token)
    // With a closed loop in every other case, as V8 optimizes only code that runs often.
    await load(spec.stored === undefined ? { ...spec, connections: 64, rate: undefined } : spec, warmUp)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    async round (spec: Spec): Promise<Round> {
      // What was too slow once is not waited for again.
      if (!isOwedCertain) return { keptUp: false }
      const before = await commits(metricsPort)
      const figures = await load(spec, spec.rate === undefined ? seconds : latencySeconds)
      const after = await commits(metricsPort)
      return { ...figures, plantsPerCommit: (after.sum - before.sum) / (after.count - before.count) || undefined }
    },
    /** Stops the server, and rejects unless it has stored what it acknowledged, where that can be counted. */
    async check (): Promise<void> {
      await started?.stop()
      const stored = started !== undefined && isOwedCertain ? await store.count() : undefined
      if (stored !== undefined && stored !== owed) {
        throw new Error(`${label} acknowledged ${owed} plants but stored ${stored}`)
      }
    },
    stop
  }
}

async function startServer (
  { module, node, environment: given }: Contender,
  { environment: more, program, words = [], fill }: ServerStore,
  { stored, case: name }: Spec,
  { token }: RunSettings,
  folder: string
) {
  if (stored !== undefined) await fill(stored)
  const environment: Record<string, string> = { ...given, ...more, ACCESS_TOKENS: token, DATA_DIR: folder }
  if (name === 'commits') environment.METRICS_PORT = '0'
  return await startProcess(program ?? module, { node, words, environment, logFile: join(folder, 'server.log') })
}

async function loop (job: LoadJob, rate: number | undefined, stored: number | undefined) {
  if (stored !== undefined) return await oneByOne(job, CREATES)
  return rate === undefined ? await closedLoop(job) : await openLoop(job, rate)
}

/** The number of commits so far, and of the plants in them, from the service's metrics. */
async function commits (port: string | undefined): Promise<{ count: number, sum: number }> {
  const text = port === undefined ? '' : await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const valueOf = (name: string): number =>
    Number(new RegExp(`^plant_store_batch_plants_${name} (\\S+)`, 'm').exec(text)?.[1] ?? 0)
  return { count: valueOf('count'), sum: valueOf('sum') }
}
