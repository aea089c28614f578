import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Machine } from './machine.js'
import type { Measurement } from './spec.js'
import type { TargetRow } from './targets.js'

export interface Results {
  name: string
  date: string
  machine: Machine
  /** The words of the command line that can change a figure. */
  options: Record<string, unknown>
  measurements: Measurement[]
  targets?: TargetRow[]
}

const folder = new URL('results/', import.meta.url)

export function resultsFile (name: string, extension: 'json' | 'html'): URL {
  if (!/^[\w.-]+$/.test(name)) throw new Error(`${name} cannot name a file of results`)
  return new URL(`${name}.${extension}`, folder)
}

export function save (results: Results, page: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(resultsFile(results.name, 'json'), `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(resultsFile(results.name, 'html'), page)
}

export function load (name: string): Results {
  try {
    return JSON.parse(readFileSync(resultsFile(name, 'json'), 'utf8'))
  } catch (error) {
    throw new Error(`no saved run ${name}: ${(error as Error).message}`)
  }
}
