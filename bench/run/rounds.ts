import { spawnSync } from 'node:child_process'
import { messageOf } from '../../src/error-message.js'
import { variant } from '../contenders.js'
import { specKey, type Measurement, type Spec } from '../results.js'
import { startSubject, type Bench, type Subject } from './subject.js'

/** Measures in the order A B C A B C …, so that changes in the machine's speed affect all specs equally. */
export async function runRounds (specs: readonly Spec[], rounds: number, bench: Bench): Promise<Measurement[]> {
  const measurements = specs.map((spec): Measurement => ({ spec, label: variant(spec.server).label, rounds: [] }))
  const subjects = new Map<string, Subject>()
  const { isTTY, columns = 80 } = process.stderr
  let begun = 0
  try {
    for (let round = 1; round <= rounds; round++) {
      for (const { spec, label, rounds: found } of measurements) {
        const what = specKey({ ...spec, server: label })
        const progress = `${++begun}/${specs.length * rounds} ${what}`
        process.stderr.write(isTTY ? `\r\u001b[K${progress.slice(0, columns - 1)}` : `${progress}\n`)
        // Specs that differ only in their load share a server.
        const key = JSON.stringify([spec.server, spec.distance, spec.case === 'commits'])
        try {
          const subject = subjects.get(key) ?? await startSubject(spec, bench)
          subjects.set(key, subject)
          // Flushes earlier writes of all servers, which a measured commit would otherwise wait for.
          spawnSync('sync')
          found.push(await subject.round(spec))
        } catch (error) {
          throw new Error(`${what}, round ${round}: ${messageOf(error)}`)
        }
      }
    }
    for (const subject of subjects.values()) await subject.check()
    return measurements
  } finally {
    await Promise.all([...subjects.values()].map(subject => subject.stop()))
  }
}
