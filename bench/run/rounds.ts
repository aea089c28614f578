import { spawnSync } from 'node:child_process'
import { messageOf } from '../../src/error-message.js'
import { specKey, type Spec } from '../plan/cases.js'
import { variant } from '../plan/contenders.js'
import type { Measurement } from '../report/results.js'
import { startMeasuredServer, type MeasuredServer, type RunSettings } from './measured-server.js'
import type { Progress } from './progress.js'

const START = 1.5 // seconds until a server has started and was checked
const FLUSH = 0.2 // seconds between two measurements

/** Specs that differ only in their load share a server. */
const serverKey = ({ server, distance, case: name }: Spec): string =>
  JSON.stringify([server, distance, name === 'commits'])

function secondsOf ({ rate }: Spec, { leadIn, seconds, latencySeconds }: RunSettings): number {
  return leadIn + (rate === undefined ? seconds : latencySeconds) + FLUSH
}

const startSeconds = ({ leadIn, warmUp }: RunSettings): number => START + leadIn + warmUp

/** The seconds that all rounds take. */
export function roundsSeconds (specs: readonly Spec[], settings: RunSettings): number {
  const servers = new Set(specs.map(serverKey)).size
  const round = specs.reduce((sum, spec) => sum + secondsOf(spec, settings), 0)
  return servers * startSeconds(settings) + settings.rounds * round
}

/** Measures in the order A B C A B C …, so that changes in the machine's speed affect all specs equally. */
export async function runRounds (
  specs: readonly Spec[], settings: RunSettings, progress: Progress
): Promise<Measurement[]> {
  const measurements = specs.map((spec): Measurement => ({ spec, label: variant(spec.server).label, rounds: [] }))
  const servers = new Map<string, MeasuredServer>()
  try {
    for (let round = 1; round <= settings.rounds; round++) {
      for (const { spec, label, rounds: found } of measurements) {
        const what = specKey({ ...spec, server: label })
        const key = serverKey(spec)
        progress.begin(what, secondsOf(spec, settings) + (servers.has(key) ? 0 : startSeconds(settings)))
        try {
          const server = servers.get(key) ?? await startMeasuredServer(spec, settings)
          servers.set(key, server)
          // Flushes earlier writes of all servers, which a measured commit would otherwise wait for.
          spawnSync('sync')
          found.push(await server.round(spec))
        } catch (error) {
          throw new Error(`${what}, round ${round}: ${messageOf(error)}`)
        }
      }
    }
    for (const server of servers.values()) await server.check()
    return measurements
  } finally {
    await Promise.all([...servers.values()].map(server => server.stop()))
  }
}
