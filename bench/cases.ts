import { contender, contenders } from './contenders.js'

interface Case {
  what: string
  servers: string[]
  connections: number[]
  /** What varies between the specs of a server in addition to connections. */
  vary?: 'rate' | 'distance'
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
  distance: { what: 'a distant MongoDB', servers: ['ours-mongodb', 'fastify-mongodb'], connections: [512], vary: 'distance', bases: ['first'] },
  start: { what: 'from startup to the first answer', servers: ['ours-sqlite', 'hello'], connections: [1], bases: ['hello'] }
} satisfies Record<string, Case>

export type CaseName = keyof typeof cases
export const caseNames = Object.keys(cases).filter((name): name is CaseName => name in cases)
export const caseOf = (name: CaseName): Case => cases[name]
