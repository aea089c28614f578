import { contenders } from '../contenders.js'
import type { Measurement, Round, Spec } from '../spec.js'
import type { Spread } from '../statistics.js'
import { median, ratio, spread } from '../statistics.js'

export interface Row {
  label: string
  spec: Spec
  left?: string
  remark?: string
  toBare?: Spread
  toFastify?: Spread
  toExpress?: Spread
  /** Against the smallest size of a growing store, or the shortest distance. */
  toFirst?: Spread
  perSecond?: Spread
  /** Of a round's percentiles, the median over the rounds. */
  latency?: Record<'p50' | 'p90' | 'p99' | 'p999' | 'p9999' | 'max', number>
  processorMicros?: number
  peakMemory?: number
  generatorBusy?: number
  measuredDistance?: number
  rate?: number
  unanswered?: number
  lateness?: number
}

export interface Group { kind: 'throughput' | 'growth' | 'distance' | 'latency', title: string, rows: Row[] }

/** Which table and chart a measurement belongs to. */
export function groups (measurements: readonly Measurement[]): Group[] {
  const found = new Map<string, { kind: Group['kind'], title: string, members: Measurement[] }>()
  for (const measurement of measurements) {
    const group = groupOf(measurement.spec)
    if (group === undefined) continue
    const key = `${group.kind} ${group.title}`
    const known = found.get(key) ?? { ...group, members: [] }
    known.members.push(measurement)
    found.set(key, known)
  }
  return [...found.values()].map(({ kind, title, members }) => ({ kind, title, rows: members.map((one) => row(one, members)) }))
}

function groupOf ({ kind, caseName, connections, order, plants, distance }: Spec): { kind: Group['kind'], title: string } | undefined {
  const at = `${connections} connection${connections === 1 ? '' : 's'}${order === 'random' ? ', random ids' : ''}`
  if (kind === 'open') return { kind: 'latency', title: `${caseName}, open loop, ${at}` }
  if (kind !== 'closed') return undefined
  if (plants !== undefined) return { kind: 'growth', title: `a growing store, ${at}` }
  if (distance !== undefined) return { kind: 'distance', title: `a MongoDB far away, ${at}` }
  return { kind: 'throughput', title: `${caseName}, ${at}` }
}

function row ({ spec, rounds, left }: Measurement, members: readonly Measurement[]): Row {
  const who = contenders.find(({ name }) => name === spec.server)
  const remark = who?.remarks?.[spec.caseName]
  const start = { label: who?.label ?? spec.server, spec, ...(left === undefined ? {} : { left }), ...(remark === undefined ? {} : { remark }) }
  if (rounds.length === 0) return start
  const rates = rounds.map((round) => round.perSecond)
  const to = (server: string): Spread | undefined => {
    const base = members.find((one) => one.spec.server === server && one.rounds.length > 0)
    return base === undefined || server === spec.server || spec.kind === 'open' ? undefined : ratio(rates, base.rounds.map((round) => round.perSecond))
  }
  const first = members.filter((one) => one.spec.server === spec.server && one.rounds.length > 0)
    .sort((a, b) => sizeOf(a.spec) - sizeOf(b.spec))[0]
  const isFar = spec.plants !== undefined || spec.distance !== undefined
  return defined({
    ...start,
    toBare: isFar ? undefined : to('bare'),
    toFastify: isFar ? undefined : to(`fastify-${who?.store ?? ''}`),
    toExpress: isFar ? undefined : to(`express-${who?.store ?? ''}`),
    toFirst: isFar && first !== undefined && first.spec !== spec ? ratio(rates, first.rounds.map((round) => round.perSecond)) : undefined,
    perSecond: spread(rates),
    latency: latency(rounds),
    processorMicros: middle(rounds, 'processorMicros'),
    peakMemory: middle(rounds, 'peakMemory'),
    generatorBusy: middle(rounds, 'generatorBusy'),
    measuredDistance: middle(rounds, 'measuredDistance'),
    rate: middle(rounds, 'rate'),
    unanswered: middle(rounds, 'unanswered'),
    lateness: middle(rounds, 'lateness')
  }) as Row
}

function sizeOf ({ plants, distance }: Spec): number {
  return plants ?? distance ?? 0
}

function latency (rounds: readonly Round[]): Row['latency'] {
  const all = rounds.flatMap((round) => round.latency ?? [])
  const at = (name: keyof NonNullable<Row['latency']>): number => median(all.map((one) => one[name]))
  return all.length === 0 ? undefined : { p50: at('p50'), p90: at('p90'), p99: at('p99'), p999: at('p999'), p9999: at('p9999'), max: at('max') }
}

type NumberField = 'processorMicros' | 'peakMemory' | 'generatorBusy' | 'measuredDistance' | 'rate' | 'unanswered' | 'lateness'

function middle (rounds: readonly Round[], field: NumberField): number | undefined {
  const values = rounds.flatMap((round) => round[field] ?? [])
  return values.length === 0 ? undefined : median(values)
}

function defined (object: object): object {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}
