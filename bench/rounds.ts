import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { contenders } from './contenders.js'
import { measure } from './measure.js'
import type { Bench } from './measure.js'
import type { Progress } from './progress.js'
import { runServer } from './run-server.js'
import type { Measurement, Spec } from './spec.js'
import { specKey } from './spec.js'
import { forkModule } from './start-process.js'
import { Subjects } from './subjects.js'

/**
 * A B C A B C …: what changes on the machine meanwhile meets all of them alike. The first round also decides which
 * specs are left out because the server can't do the case.
 */
export async function runRounds (specs: readonly Spec[], rounds: number, bench: Bench, told: Progress): Promise<Measurement[]> {
  const distinct = [...new Map(specs.map((spec) => [specKey(spec), spec])).values()]
  const measurements = distinct.map((spec): Measurement => {
    const left = contenders.find(({ name }) => name === spec.server)?.cannot[spec.caseName]
    return { spec, rounds: [], ...(left === undefined ? {} : { left }) }
  })
  await prefillAll(distinct, bench, told)
  const subjects = new Subjects(bench)
  try {
    for (let round = 1; round <= rounds; round++) {
      for (const measurement of measurements) {
        if (measurement.left !== undefined) continue
        told.step(`round ${round}: ${specKey(measurement.spec)}`)
        // What was written before goes to the disk now: a commit that is measured would wait for it.
        spawnSync('sync')
        try {
          measurement.rounds.push(await measure(measurement.spec, bench, subjects, measurements))
        } catch (error) {
          throw new Error(`${specKey(measurement.spec)}, round ${round}: ${(error as Error).message}`)
        }
      }
    }
    await subjects.check()
  } finally {
    await subjects.stop()
  }
  return measurements
}

/** One file for each size, kept for all rounds: what the rounds add is little beside what is there. */
async function prefillAll (specs: readonly Spec[], bench: Bench, told: Progress): Promise<void> {
  for (const plants of new Set(specs.map((spec) => spec.plants ?? 0))) {
    if (plants === 0) continue
    const folder = join(bench.folder, `grown-${plants}`)
    mkdirSync(folder, { recursive: true })
    const databaseFile = join(folder, 'plants.db')
    const service = contenders.find(({ name }) => name === 'ours-sqlite')
    if (service !== undefined) {
      // The service makes its own file, with whatever marks it puts there.
      const server = await runServer(service, { token: bench.token, folder: bench.folder, databaseFile, environment: bench.environment })
      await server.stop()
    }
    const { child, stop } = forkModule(new URL('prefill-process.js', import.meta.url), undefined, [databaseFile, String(plants)])
    child.on('message', (done) => told.line(`${Number(done).toLocaleString('en')} of ${plants.toLocaleString('en')} plants`))
    try {
      const code = await new Promise((resolve) => child.once('exit', resolve))
      if (code !== 0) throw new Error(`prefilling ended with ${String(code)}`)
    } finally {
      await stop()
    }
    bench.databaseFiles.set(plants, databaseFile)
  }
}
