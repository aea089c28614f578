import { contender, contenders } from './contenders.js'
import type { Options } from './options.js'
import type { Spec } from './results.js'

interface Case {
  what: string
  servers: string[]
  connections: number[]
  /** What varies between the specs of a server in addition to connections. */
  vary?: 'rate' | 'plants' | 'distance' | 'workers'
  /** The bases of ratios: a server, `fastify` on the same store, or `first`, the same server's first spec. */
  bases: string[]
}

const everyServer = contenders.map(({ name }) => name).filter(name => name !== 'hello' && name !== 'url')
const sqlite = everyServer.filter(name => contender(name).store === 'sqlite')

export const cases = {
  create: { what: 'distinct plants', servers: everyServer, connections: [64], bases: ['bare', 'fastify'] },
  single: { what: 'one request at a time', servers: sqlite, connections: [1], bases: ['fastify'] },
  latency: { what: 'at equal rates', servers: sqlite, connections: [64], vary: 'rate', bases: [] },
  commits: { what: 'how many create requests share a commit', servers: ['ours-sqlite'], connections: [1, 4, 16, 64, 256], bases: [] },
  growth: { what: 'a growing store, random ids', servers: ['ours-sqlite'], connections: [64], vary: 'plants', bases: ['first'] },
  distance: { what: 'a distant MongoDB', servers: ['ours-mongodb', 'fastify-mongodb'], connections: [512], vary: 'distance', bases: ['first'] },
  workers: { what: 'several processes on one port', servers: ['ours-sqlite'], connections: [64, 512], vary: 'workers', bases: ['first'] },
  start: { what: 'from startup to the first answer', servers: ['ours-sqlite', 'hello'], connections: [1], bases: ['hello'] }
} satisfies Record<string, Case>

export type CaseName = keyof typeof cases
export const caseNames = Object.keys(cases).filter((name): name is CaseName => name in cases)
export const caseOf = (name: CaseName): Case => cases[name]

/** Derives the measurements from the options, in the order of each round. */
export function plan (options: Options): Spec[] {
  return options.cases.flatMap(name => {
    const { connections, vary } = caseOf(name)
    const { rates, distances, workers, plants } = options
    const sizes = [0, ...[100, 10, 1].map(part => Math.floor(plants / part))]
    const values = vary && { rate: rates, distance: distances, workers, plants: sizes }[vary]
    const specs = serversOf(name, options).flatMap(server => (options.connections ?? connections).flatMap(count => {
      const spec: Spec = { case: name, server, connections: count }
      return values === undefined || vary === undefined
        ? [spec]
        : values.map((value): Spec => ({ ...spec, [vary]: value }))
    }))
    // All servers at one rate, then all at the next, so that they are compared under the same conditions.
    return vary === 'rate' ? specs.sort((a, b) => (a.rate ?? 0) - (b.rate ?? 0)) : specs
  })
}

function serversOf (name: CaseName, { url, servers, mongodb }: Options): string[] {
  const usual = caseOf(name).servers
  if (url !== undefined) return ['url']
  // On a scripted MongoDB, Fastify represents all peers.
  if (servers === undefined) return usual.filter(server => mongodb !== undefined || server !== 'express-mongodb')
  const stores = usual.map(server => contender(server).store)
  return servers.filter(server => usual.includes(server) || (name !== 'start' && server !== 'hello' && stores.includes(contender(server).store)))
}
