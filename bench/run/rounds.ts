import { spawnSync } from 'node:child_process'
import { specKey, type Spec } from '../plan/cases.js'
import { variant } from '../plan/contenders.js'
import type { Measurement } from '../report/results.js'
import { startMeasuredServer, type MeasuredServer, type RunSettings } from './measured-server.js'
import type { Step } from './steps.js'

const START = 1.5 // seconds until a server has started and was checked
const FLUSH = 0.2 // seconds between two measurements
const FILL = 5e-6 // seconds for each plant that a store is filled with
const FEW = 0.5 // seconds of a round of a filled store, which has few requests

/** Specs that differ only in their load share a server. */
const serverKey = ({ server, distance, stored, case: name }: Spec): string =>
  JSON.stringify([server, distance, stored, name === 'commits'])

/** As expected, for a round. */
function secondsOf ({ rate, stored }: Spec, { leadIn, seconds, latencySeconds }: RunSettings): number {
  if (stored !== undefined) return FEW
  return leadIn + (rate === undefined ? seconds : latencySeconds)
}

/**
 * Starts each server, and measures in the order A B C A B C …, so that changes in the machine's speed affect all specs
 * equally. In the end each must have stored what it acknowledged.
 */
export function roundSteps (specs: readonly Spec[], settings: RunSettings) {
  const { leadIn, warmUp } = settings
  const measurements = specs.map((spec): Measurement => ({ spec, label: variant(spec.server).label, rounds: [] }))
  const servers = new Map<string, MeasuredServer>()

  const starts = new Map<string, Step>()
  for (const { spec, label } of measurements) {
    const key = serverKey(spec)
    if (starts.has(key)) continue
    starts.set(key, {
      what: `${label} starts`,
      seconds: START + (spec.stored === undefined ? leadIn + warmUp : FEW + spec.stored * FILL),
      run: async () => { servers.set(key, await startMeasuredServer(spec, settings)) }
    })
  }
  const round = measurements.map(({ spec, label, rounds }): Step => ({
    what: specKey({ ...spec, server: label }),
    seconds: FLUSH + secondsOf(spec, settings),
    async run () {
      // Flushes earlier writes of all servers, which a measured commit would otherwise wait for.
      spawnSync('sync')
      const figures = await servers.get(serverKey(spec))?.round(spec)
      if (figures !== undefined) rounds.push(figures)
    }
  }))
  const rounds = Array.from({ length: settings.rounds }, () => round)
  return {
    measurements,
    steps: [...starts.values(), ...rounds.flat()],
    async check (): Promise<void> {
      for (const server of servers.values()) await server.check()
    },
    async stop (): Promise<void> {
      await Promise.all([...servers.values()].map(server => server.stop()))
    }
  }
}
