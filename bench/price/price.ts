import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../src/error-message.js'
import type { Round } from '../load/round.js'
import type { Spec } from '../plan/cases.js'
import { variant } from '../plan/contenders.js'
import { groupedBy, processKey } from '../plan/plan.js'
import { median } from '../report/figures.js'
import type { Measurement } from '../report/results.js'
import type { RunSettings } from '../run/measured-server.js'
import type { Progress } from '../run/progress.js'
import { runToEnd } from '../run/start-process.js'
import type { Alternation } from './alternation.js'
import type { SideName } from './side.js'

const program = new URL('alternation.js', import.meta.url)
const SLICES_PER_SECOND = 10
const START = 1 // seconds that a process takes until it measures
// Seconds for each server: there is no store to fill, and a further process says more than a longer one.
const LONGEST_WARM_UP = 1
const LONGEST_RUN = 1

type PriceSettings = Pick<RunSettings, 'folder' | 'rounds' | 'seconds' | 'warmUp'>

const warmUpOf = ({ warmUp }: PriceSettings): number => Math.min(LONGEST_WARM_UP, warmUp)
const secondsOf = ({ seconds }: PriceSettings): number => Math.min(LONGEST_RUN, seconds)

/** The seconds that the case takes. */
export function priceSeconds (specs: readonly Spec[], settings: PriceSettings): number {
  const processes = groupedBy(specs, processKey).length
  return 2 * settings.rounds * (processes * START + specs.length * (warmUpOf(settings) + secondsOf(settings)))
}

/**
 * Compares servers that alternate in one process, with a process for each Node. In each round it is started twice, with
 * the servers in both orders: which one is first decides what V8 learns from it, and who inherits whose garbage.
 */
export async function comparePrices (
  specs: readonly Spec[], settings: PriceSettings, progress: Progress
): Promise<Measurement[]> {
  const measurements = specs.map((spec): Measurement => ({ spec, label: variant(spec.server).label, rounds: [] }))
  const groups = groupedBy(measurements, ({ spec }) => processKey(spec))
  for (let round = 1; round <= settings.rounds; round++) {
    for (const group of groups) {
      const what = `price of ${group[0]?.label} and what it is compared with`
      progress.begin(what, priceSeconds(group.map(({ spec }) => spec), { ...settings, rounds: 1 }))
      try {
        const forwards = await alternate(group, settings)
        const backwards = (await alternate(group.toReversed(), settings)).toReversed()
        const [first = []] = forwards
        const [firstBackwards = []] = backwards
        for (const [index, { rounds }] of group.entries()) {
          rounds.push(roundOf([
            { times: forwards[index] ?? [], first },
            { times: backwards[index] ?? [], first: firstBackwards }
          ]))
        }
      } catch (error) {
        throw new Error(`${what}, round ${round}: ${messageOf(error)}`)
      }
    }
  }
  return measurements
}

/** The times of a server in one process, and those of the server with which the others are compared. */
interface Launch { times: number[], first: number[] }

/** Compares slices that ran right after one another. */
function roundOf (launches: readonly Launch[]): Round {
  const prices = launches.map(({ times }) => median(times) ?? NaN)
  const ratios = launches.map(({ times, first }) =>
    median(times.map((time, turn) => (first[turn] ?? NaN) / time)) ?? NaN)
  return { price: mean(prices), firstDividedByIt: mean(ratios) }
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** Starts one process. */
async function alternate (group: readonly Measurement[], settings: PriceSettings): Promise<number[][]> {
  const [{ spec } = { spec: undefined }] = group
  if (spec === undefined) return []
  const { node, environment: { STORE, TOKEN, ...environment } } = variant(spec.server)
  const alternation: Alternation = {
    sides: group.map(({ spec }) => sideOf(spec)),
    connections: spec.connections,
    warmUps: Math.ceil(warmUpOf(settings) * SLICES_PER_SECOND),
    turns: Math.ceil(secondsOf(settings) * SLICES_PER_SECOND)
  }
  const logFile = join(mkdtempSync(join(settings.folder, 'price-')), 'price.log')
  return JSON.parse(await runToEnd(program, { node, environment, words: [JSON.stringify(alternation)], logFile }))
}

function sideOf ({ server }: Spec): SideName {
  const { isOurs, module } = variant(server)
  if (isOurs) return { plugin: module.href }
  const [name] = server.split('@')
  return name as SideName
}
