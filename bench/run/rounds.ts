import { spawnSync } from 'node:child_process'
import { messageOf } from '../../src/error-message.js'
import { variant } from '../contenders.js'
import { specKey, type Measurement, type Round, type Spec } from '../results.js'
import { startSubject, type Bench, type Subject } from './subject.js'

/** Measures in the order A B C A B C …, so that changes in the machine's speed affect all specs equally. */
export async function runRounds (specs: readonly Spec[], rounds: number, bench: Bench): Promise<Measurement[]> {
  const measurements = specs.map((spec): Measurement => ({ spec, label: variant(spec.server).label, rounds: [] }))
  const subjects = new Map<string, Subject>()
  const show = progress(specs.length * rounds)
  try {
    for (let round = 1; round <= rounds; round++) {
      for (const { spec, label, rounds: found } of measurements) {
        const what = specKey({ ...spec, server: label })
        show(what)
        try {
          found.push(await measure(spec, bench, subjects))
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

async function measure (spec: Spec, bench: Bench, subjects: Map<string, Subject>): Promise<Round> {
  // Specs that differ only in their load share a server.
  const { server, distance } = spec
  const key = JSON.stringify([server, distance, spec.case === 'commits'])
  const subject = subjects.get(key) ?? await startSubject(spec, bench)
  subjects.set(key, subject)
  // Flushes earlier writes of all servers, which a measured commit would otherwise wait for.
  spawnSync('sync')
  return await subject.round(spec)
}

/** Shows the progress of the run: one line rewritten on a terminal, plain lines elsewhere. */
function progress (total: number): (what: string) => void {
  const { isTTY, columns = 80 } = process.stderr
  let begun = 0
  return what => {
    const text = `${++begun}/${total} ${what}`
    process.stderr.write(isTTY ? `\r\u001b[K${text.slice(0, columns - 1)}` : `${text}\n`)
  }
}
