import { contender, contenders } from './contenders.js'
import type { Options } from './options.js'
import type { Spec } from './results.js'

export type CaseName = 'create' | 'single' | 'latency' | 'commits' | 'distance'

interface Case {
  what: string
  servers: string[]
  connections: number[]
  /** What varies between the specs of a server in addition to connections. */
  vary?: 'rate' | 'distance'
}

/** All but the service at --url. */
export const everyServer = contenders.map(({ name }) => name).filter(name => name !== 'url')
const on = (store: string): string[] => everyServer.filter(name => contender(name).store === store)

export const cases: Record<CaseName, Case> = {
  create: { what: 'distinct plants', servers: everyServer, connections: [64] },
  single: { what: 'one request at a time', servers: on('sqlite'), connections: [1] },
  latency: { what: 'at equal rates', servers: on('sqlite'), connections: [64], vary: 'rate' },
  commits: { what: 'how many plants share a commit', servers: ['ours-sqlite'], connections: [1, 4, 16, 64, 256] },
  distance: { what: 'a distant MongoDB', servers: on('mongodb'), connections: [512], vary: 'distance' }
}

export const caseNames = Object.keys(cases) as CaseName[]

/** Derives the measurements from the options, in the order of each round. */
export function plan (options: Options): Spec[] {
  const values = { rate: options.rates, distance: options.distances }
  return options.cases.flatMap(name => {
    const { connections, vary } = cases[name]
    const specs = serversOf(name, options).flatMap(server => (options.connections ?? connections).flatMap(count => {
      const spec: Spec = { case: name, server, connections: count }
      return vary === undefined ? [spec] : values[vary].map((value): Spec => ({ ...spec, [vary]: value }))
    }))
    // All servers at one rate, then all at the next, so that they are compared under the same conditions.
    return vary === 'rate' ? specs.sort((a, b) => (a.rate ?? 0) - (b.rate ?? 0)) : specs
  })
}

function serversOf (name: CaseName, { url, servers, mongodb }: Options): string[] {
  const all = cases[name].servers
  if (url !== undefined) return name === 'create' || name === 'latency' ? ['url'] : []
  if (servers !== undefined) return servers.filter(server => all.includes(server.replace(/@.*/, '')))
  // On a scripted MongoDB, Fastify represents all peers.
  return all.filter(server => mongodb !== undefined || server !== 'express-mongodb')
}
