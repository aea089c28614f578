import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Round } from '../load/measurement-window.js'
import type { Spec } from '../plan/cases.js'

export interface Measurement { spec: Spec, label: string, rounds: Round[] }

export interface Results {
  date: string
  command: string // repeats the run
  /** Times are in seconds. */
  method: Record<'rounds' | 'warmUp' | 'leadIn' | 'seconds' | 'latencySeconds', number> & { isPublished: boolean }
  machine: string
  versions: Record<string, string>
  url?: string | undefined // of the service that --url names; what runs there is not known
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
  try {
    const results: Results = JSON.parse(readFileSync(file, 'utf8'))
    if (results.measurements[0]?.label !== undefined) return results
  } catch {}
  throw new Error(`${file} is not a saved run of this version: name what --save was, or measure again`)
}
