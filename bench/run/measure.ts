import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeMongo } from '../mongodb/mongo-database.js'
import type { Spec } from '../plan/cases.js'
import type { Options } from '../plan/options.js'
import { groupedBy, processKey } from '../plan/plan.js'
import { comparePrices, priceSeconds } from '../price/price.js'
import type { Results } from '../report/results.js'
import { machine, versions } from './machine.js'
import { Progress } from './progress.js'
import { roundsSeconds, runRounds } from './rounds.js'

/** @param words of the command line, which the results name */
export async function measure (specs: readonly Spec[], options: Options, words: readonly string[]): Promise<Results> {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-bench-'))
  // start-process.ts added its listener earlier, so the processes that use this folder are killed first.
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))

  const { mongodb: address, rounds, warmUp, leadIn, seconds, latencySeconds, isPublished } = options
  const mongodb = address === undefined ? undefined : await describeMongo(address)
  const settings = { ...options, folder, token: options.token ?? randomBytes(24).toString('base64url') }
  const date = new Date().toISOString()

  const inOneProcess = specs.filter(spec => spec.case === 'price')
  const inProcesses = specs.filter(spec => spec.case !== 'price')
  const total = priceSeconds(inOneProcess, settings) + roundsSeconds(inProcesses, settings)
  const steps = inProcesses.length + groupedBy(inOneProcess, processKey).length
  const progress = new Progress(total, rounds * steps)
  const prices = await comparePrices(inOneProcess, settings, progress)
  const measured = await runRounds(inProcesses, settings, progress)
  return {
    date,
    command: withoutSecrets(['npm run bench', ...words.length > 0 ? ['--', ...words] : []].join(' ')),
    method: { rounds, warmUp, leadIn, seconds, latencySeconds, isPublished },
    machine: machine(folder),
    versions: await versions(folder),
    mongodb,
    measurements: [...measured, ...prices].map(one =>
      ({ ...one, label: one.label.replace('MongoDB', mongodb?.program ?? '$&') }))
  }
}

/** Removes the token, and the user and passwords of an address. */
function withoutSecrets (command: string): string {
  return command.replace(/((?:--token[ =]|password=))[^\s&]+/gi, '$1…').replace(/\/\/[^@/ ]*@/g, '//')
}
