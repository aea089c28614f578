import type { Measurement, Round, Spec } from './spec.js'
import { closedKey, specKey } from './spec.js'
import type { Spread } from './statistics.js'
import { ratio, spread } from './statistics.js'

export interface Target {
  name: string
  what: string
  atLeast: number
  stretch: number
  /** Times and their ratios: less is better. */
  less?: true
  unit?: string
  needsMongodb?: true
  specs: Spec[]
  value: (rounds: (spec: Spec) => Round[], specs: Spec[]) => Spread
}

export interface TargetRow {
  name: string
  what: string
  value?: Spread
  unit?: string
  atLeast: number
  stretch: number
  less: boolean
  verdict: 'stretch' | 'pass' | 'short' | 'left out'
}

const base: Spec = { kind: 'closed', server: 'bare', caseName: 'create', connections: 64, order: 'growing' }
const at = (server: string, more: Partial<Spec> = {}): Spec => ({ ...base, server, ...more })
const scripted = { mongodb: 'scripted' } as const

const perSecond = (rounds: Round[]): number[] => rounds.map((round) => round.perSecond)
const milliseconds = (rounds: Round[]): number[] => rounds.map((round) => 1000 / round.perSecond)
type Value = Target['value']
const throughputRatio: Value = (rounds, [subject, peer]) => ratio(perSecond(rounds(subject as Spec)), perSecond(rounds(peer as Spec)))
const timeRatio: Value = (rounds, [subject, peer]) => ratio(milliseconds(rounds(subject as Spec)), milliseconds(rounds(peer as Spec)))
const p99: Value = (rounds, [subject]) => spread(rounds(subject as Spec).map(({ latency }) => (latency?.p99 ?? NaN) / 1000))

/** The table of what must show. The subject is the first spec of its row, what it is measured against the second. */
export function targets (plants: number): Target[] {
  return [
    { name: 'no-store', what: 'no store / bare node:http', atLeast: 0.82, stretch: 0.92, specs: [at('ours'), base], value: throughputRatio },
    { name: 'sqlite', what: 'SQLite, durable / bare node:http', atLeast: 0.78, stretch: 0.90, specs: [at('ours-sqlite'), base], value: throughputRatio },
    { name: 'access-log', what: 'SQLite with ACCESS_LOG / without', atLeast: 0.85, stretch: 0.92, specs: [at('ours-sqlite-log'), at('ours-sqlite')], value: throughputRatio },
    { name: 'mongodb-fastify', what: 'MongoDB / obvious Fastify, scripted MongoDB', atLeast: 3.5, stretch: 6, specs: [at('ours-mongodb', scripted), at('fastify-mongodb', scripted)], value: throughputRatio },
    { name: 'mongodb-express', what: 'MongoDB / Express 5 with zod, scripted MongoDB', atLeast: 6, stretch: 10, specs: [at('ours-mongodb', scripted), at('express-mongodb', scripted)], value: throughputRatio },
    {
      name: 'mongodb-loop',
      what: 'MongoDB of --mongodb / a bare insertMany loop of 500',
      atLeast: 0.8,
      stretch: 0.95,
      needsMongodb: true,
      specs: [at('ours-mongodb', { mongodb: 'given' }), at('insert-many-loop', { kind: 'insert-many', mongodb: 'given' })],
      value: throughputRatio
    },
    { name: 'sqlite-express', what: 'SQLite / Express 5 on SQLite', atLeast: 5, stretch: 8, specs: [at('ours-sqlite'), at('express-sqlite')], value: throughputRatio },
    {
      name: 'distance',
      what: 'MongoDB 20 ms away / 0 ms away, 512 connections',
      atLeast: 0.8,
      stretch: 0.95,
      specs: [20, 0].map((distance) => at('ours-mongodb', { ...scripted, connections: 512, distance })),
      value: throughputRatio
    },
    {
      name: 'growth',
      what: `SQLite at ${plants.toLocaleString('en')} plants / at none, random ids`,
      atLeast: 0.8,
      stretch: 0.9,
      specs: [plants, 0].map((size) => at('ours-sqlite', { order: 'random', plants: size })),
      value: throughputRatio
    },
    {
      name: 'p99',
      what: 'p99 at half of the full rate, open loop, SQLite',
      atLeast: 5,
      stretch: 2,
      less: true,
      unit: 'ms',
      // The closed loop before it finds the full rate.
      specs: [at('ours-sqlite', { kind: 'open', rate: { share: 0.5 } }), at('ours-sqlite')],
      value: p99
    },
    {
      name: 'alone',
      what: 'one create alone (1 connection), SQLite / obvious Fastify',
      atLeast: 0.9,
      stretch: 1,
      specs: ['ours-sqlite', 'fastify-sqlite'].map((server) => at(server, { connections: 1 })),
      value: throughputRatio
    },
    {
      name: 'start',
      what: 'start to first answer / a Fastify hello world\'s',
      atLeast: 2,
      stretch: 1.5,
      less: true,
      specs: ['ours-sqlite', 'hello-fastify'].map((server) => at(server, { kind: 'start' })),
      value: timeRatio
    }
  ]
}

/** All specs of the rows once, each open loop right behind the closed one that finds its rate. */
export function targetSpecs (rows: readonly Target[], hasMongodb: boolean): Spec[] {
  const specs = rows.filter(({ needsMongodb }) => hasMongodb || needsMongodb !== true).flatMap((row) => row.specs)
  const distinct = [...new Map(specs.map((spec) => [specKey(spec), spec])).values()]
  const open = distinct.filter(({ kind }) => kind === 'open')
  return distinct.filter(({ kind }) => kind !== 'open').flatMap((spec) => [spec, ...open.filter((one) => closedKey(one) === specKey(spec))])
}

export function judge (rows: readonly Target[], measurements: readonly Measurement[]): TargetRow[] {
  const rounds = (spec: Spec): Round[] => measurements.find((one) => specKey(one.spec) === specKey(spec))?.rounds ?? []
  return rows.map(({ name, what, unit, atLeast, stretch, less = false, specs, value }) => {
    const row = { name, what, atLeast, stretch, less, ...(unit === undefined ? {} : { unit }) }
    if (specs.some((spec) => rounds(spec).length === 0)) return { ...row, verdict: 'left out' }
    const found = value(rounds, specs)
    const reaches = (limit: number): boolean => less ? found.median <= limit : found.median >= limit
    return { ...row, value: found, verdict: reaches(stretch) ? 'stretch' : reaches(atLeast) ? 'pass' : 'short' }
  })
}
