import { spawnSync } from 'node:child_process'
import { messageOf } from '../../src/error-message.js'
import { specKey, type Measurement, type Round, type Spec } from '../results.js'
import { spread } from '../statistics.js'
import { firstAnswer, startSubject, type Bench, type Subject } from './subject.js'

/**
 * Measures in the order A B C A B C …, so that changes in the machine's speed affect all specs equally. A published
 * run repeats the cases with bare, up to twice as many rounds more, until its last rounds agree within 10 %.
 */
export async function runRounds (specs: readonly Spec[], rounds: number, isPublished: boolean, bench: Bench) {
  const measurements = specs.map((spec): Measurement => ({ spec, rounds: [] }))
  const subjects = new Map<string, Subject>()
  let disturbedRounds = 0
  const most = isPublished ? rounds * 3 : rounds
  const withBare = new Set(specs.flatMap(spec => spec.server === 'bare' ? spec.case : []))
  const isDue = ({ spec }: Measurement, round: number): boolean =>
    round < rounds ? spec.case !== 'latency' || round < bench.latencyRounds : withBare.has(spec.case)
  const show = progress(specs.reduce((sum, spec) => sum + (spec.case === 'latency' ? bench.latencyRounds : rounds), 0))
  try {
    for (let round = 0; round < most && (round < rounds || isSteady(measurements, rounds) === false); round++) {
      if (round >= rounds) disturbedRounds++
      for (const { spec, rounds: found } of measurements.filter(one => isDue(one, round))) {
        show(specKey(spec))
        try {
          found.push(isTooMuch(spec, measurements, round) ? { keptUp: false } : await measure(spec, bench, subjects))
        } catch (error) {
          throw new Error(`${specKey(spec)}, round ${round + 1}: ${messageOf(error)}`)
        }
      }
    }
    for (const measurement of measurements) measurement.rounds = measurement.rounds.slice(-rounds)
    const notCounted = new Set<string>()
    for (const subject of subjects.values()) if (!await subject.check()) notCounted.add(subject.label)
    return { measurements, notCounted: [...notCounted], disturbedRounds, isSteady: isSteady(measurements, rounds) }
  } finally {
    await Promise.all([...subjects.values()].map(subject => subject.stop()))
  }
}

export function isSteady (measurements: readonly Measurement[], rounds: number): boolean | undefined {
  const bare = measurements.filter(({ spec }) => spec.server === 'bare')
  if (bare.length === 0) return undefined
  return bare.every(one => {
    const { low, high, median } = spread(one.rounds.slice(-rounds).flatMap(({ perSecond }) => perSecond ?? []))
    return high - low <= 0.1 * median
  })
}

/** A server that cannot keep up with a rate is not measured at higher ones. */
function isTooMuch (spec: Spec, measurements: readonly Measurement[], round: number): boolean {
  const tooMuch = measurements.filter(({ rounds }) => rounds[round]?.keptUp === false).map(one => one.spec)
  return tooMuch.some(({ rate = Infinity, server, connections }) =>
    rate < (spec.rate ?? 0) && server === spec.server && connections === spec.connections)
}

async function measure (spec: Spec, bench: Bench, subjects: Map<string, Subject>): Promise<Round> {
  if (spec.case === 'start') return await firstAnswer(spec, bench)
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
  const { isTTY, columns } = process.stderr
  let done = 0
  return what => {
    const text = ++done > total ? `until the rounds agree: ${what}` : `${done}/${total} ${what}`
    process.stderr.write(isTTY ? `\r\u001b[K${text.slice(0, columns - 1)}` : `${text}\n`)
  }
}
