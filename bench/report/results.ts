import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Round } from '../load/round.js'
import type { Spec } from '../plan/cases.js'

export interface Measurement { spec: Spec, label: string, rounds: Round[] }

export interface Results {
  date: string
  command: string // repeats the run
  /** Times are in seconds. */
  method: Record<'rounds' | 'warmUp' | 'leadIn' | 'seconds' | 'latencySeconds', number> & { isPublished: boolean }
  machine: string
  versions: Record<string, string>
  mongodb?: { program: string, description: string } | undefined // that of --mongodb
  measurements: Measurement[]
}

/** The folder of a run: a path, or a name below bench/results. */
export function resultsFolder (name: string): string {
  return name.includes('/') ? resolve(name.replace(/\/results\.json$/, '')) : resolve('bench/results', name)
}

/** @throws {Error} if there is no such run, or one of another version */
export function load (name: string): Results {
  const file = join(resultsFolder(name), 'results.json')
  if (!existsSync(file)) throw new Error(`there is no ${file}: --from takes what --save was, a name or a path`)
  const results = parsed(readFileSync(file, 'utf8'))
  if (results?.measurements?.[0]?.label === undefined) {
    throw new Error(`${file} is not a saved run of this version: measure again, or check out the commit that it names`)
  }
  return results
}

/** @returns undefined if the text is not JSON */
function parsed (text: string): Results | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
