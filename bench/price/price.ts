import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { Spec } from '../plan/cases.js'
import { variant } from '../plan/contenders.js'
import { groupedBy, median } from '../report/figures.js'
import type { Measurement } from '../report/results.js'
import type { RunSettings } from '../run/measured-server.js'
import { runToEnd } from '../run/start-process.js'
import type { Step } from '../run/steps.js'
import type { Alternation } from './alternation.js'

const program = new URL('alternation.js', import.meta.url)
const SLICES_PER_SECOND = 10
const START = 1 // seconds that a process takes until it measures
const LONGEST = 1 // s for each server: there is no store to fill, and a further process says more than a longer one

/**
 * Compares servers that alternate in one process, with a process for each Node. In each round it is started twice, with
 * the servers in both orders: which one is first decides what V8 learns from it, and who inherits whose garbage.
 */
export function priceSteps (specs: readonly Spec[], settings: RunSettings) {
  const measurements = specs.map((spec): Measurement => ({ spec, label: variant(spec.server).label, rounds: [] }))
  const groups = groupedBy(measurements, ({ spec: { node, connections } }) => `${connections} ${node}`)
  const warmUp = Math.min(LONGEST, settings.warmUp)
  const duration = Math.min(LONGEST, settings.seconds)

  const steps = groups.flatMap(group => [group, group.toReversed()].map((inOrder): Step => ({
    what: `price of ${group[0]?.label} and what it is compared with`,
    seconds: START + group.length * (warmUp + duration),
    async run () {
      const all = await alternate(inOrder, warmUp, duration, settings.folder)
      const first = all[inOrder === group ? 0 : group.length - 1] ?? []
      for (const [index, { rounds }] of inOrder.entries()) {
        const times = all[index] ?? []
        // Slices that ran right after one another.
        const ratios = times.map((time, turn) => (first[turn] ?? NaN) / time)
        rounds.push({ price: median(times), firstDividedByIt: median(ratios) })
      }
    }
  })))
  return { measurements, steps: Array.from({ length: settings.rounds }, () => steps).flat() }
}

/** Starts one process; returns the times of each server. */
async function alternate (
  inOrder: readonly Measurement[], warmUp: number, duration: number, folder: string
): Promise<number[][]> {
  const alternation: Alternation = {
    servers: inOrder.map(({ spec }) => serverOf(spec)),
    connections: inOrder[0]?.spec.connections ?? 1,
    warmUps: Math.ceil(warmUp * SLICES_PER_SECOND),
    turns: Math.ceil(duration * SLICES_PER_SECOND)
  }
  const logFile = join(mkdtempSync(join(folder, 'price-')), 'price.log')
  const environment = { NODE_ENV: 'production' }
  const node = inOrder[0]?.spec.node ?? process.execPath
  return JSON.parse(await runToEnd(program, { node, words: [JSON.stringify(alternation)], environment, logFile }))
}

function serverOf ({ server }: Spec): string {
  const { isOurs, module } = variant(server)
  return isOurs ? module.href : server.replace(/@.*/, '')
}
