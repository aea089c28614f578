import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { Spec } from '../plan/cases.js'
import { contender, variant } from '../plan/contenders.js'
import { groupedBy, median } from '../report/figures.js'
import type { Measurement } from '../report/results.js'
import type { RunSettings } from '../run/measured-server.js'
import { runToEnd } from '../run/start-process.js'
import type { Step } from '../run/steps.js'
import { timesOfStarts } from './starts.js'

/**
 * What a process does for an alternation of servers: each is a name of a server or, of plant-store, the URL of its
 * library. It prints the times of each server as JSON: an array of an array of µs.
 */
export interface Alternation {
  servers: string[]
  connections: number
  folder: string
  warmUps: number
  turns: number
}

const priceProcess = new URL('price-process.js', import.meta.url)
const oneCreateProcess = new URL('one-create-process.js', import.meta.url)
const TURNS_PER_SECOND = 10
const STARTS_PER_SECOND = 5
const START = 1 // seconds that a process takes until it measures
const LONGEST = 1 // s for each server: a further process says more than a longer one

/**
 * Compares servers that take turns, in one process for each Node or as processes that start. In each round they do so
 * twice, in both orders: which one is first decides what V8 learns from it, and who inherits whose garbage.
 */
export function alternatingSteps (specs: readonly Spec[], settings: RunSettings) {
  const measurements = specs.map((spec): Measurement => ({ spec, label: variant(spec.server).label, rounds: [] }))
  const groups = groupedBy(measurements, ({ spec }) => `${spec.case} ${spec.connections} ${spec.node}`)
  const warmUp = Math.min(LONGEST, settings.warmUp)
  const duration = Math.min(LONGEST, settings.seconds)

  const steps = groups.flatMap(group => [group, group.toReversed()].map((inOrder): Step => ({
    what: `${group[0]?.spec.case} of ${group[0]?.label} and what it is compared with`,
    seconds: START + group.length * (warmUp + duration),
    async run () {
      const all = await timesOf(inOrder, warmUp, duration, settings)
      const first = all[inOrder === group ? 0 : group.length - 1] ?? []
      for (const [index, { rounds }] of inOrder.entries()) {
        const times = all[index] ?? []
        // Turns that followed one another.
        const ratios = times.map((time, turn) => (first[turn] ?? NaN) / time)
        rounds.push({ price: median(times), firstDividedByIt: median(ratios) })
      }
    }
  })))
  return { measurements, steps: Array.from({ length: settings.rounds }, () => steps).flat() }
}

/** The times of each server, in µs. */
async function timesOf (
  inOrder: readonly Measurement[], warmUp: number, duration: number, settings: RunSettings
): Promise<number[][]> {
  const specs = inOrder.map(({ spec }) => spec)
  const name = specs[0]?.case
  const folder = mkdtempSync(join(settings.folder, `${name}-`))
  if (name === 'start') {
    return await timesOfStarts(specs, Math.ceil(duration * STARTS_PER_SECOND), folder, settings.token)
  }
  const alternation: Alternation = {
    servers: specs.map(nameOrLibrary),
    connections: specs[0]?.connections ?? 1,
    folder,
    warmUps: Math.ceil(warmUp * TURNS_PER_SECOND),
    turns: Math.ceil(duration * TURNS_PER_SECOND)
  }
  const program = name === 'price' ? priceProcess : oneCreateProcess
  const environment = { NODE_ENV: 'production' }
  const node = specs[0]?.node ?? process.execPath
  const logFile = join(folder, 'alternation.log')
  return JSON.parse(await runToEnd(program, { node, words: [JSON.stringify(alternation)], environment, logFile }))
}

function nameOrLibrary ({ server }: Spec): string {
  const { isOurs, library } = variant(server)
  return isOurs ? library.href : contender(server).name
}
