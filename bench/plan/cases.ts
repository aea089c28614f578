import { contenders } from './contenders.js'

export type CaseName = 'create' | 'single' | 'latency' | 'commits' | 'distance' | 'price'

/** A measurement to make once in every round. */
export interface Spec {
  case: CaseName
  server: string
  connections: number
  rate?: number // create requests per second; undefined for a closed loop
  distance?: number // ms of added round-trip time to MongoDB
  runtime?: string // price: Node and variables of the process in which it takes turns, as in `Contender`
}

interface Case {
  what: string
  servers: string[]
  connections: number[]
  /** What varies between the specs of a server in addition to connections. */
  vary?: 'rate' | 'distance'
}

/** All but the service at --url. */
export const everyServer = contenders.map(({ name }) => name).filter(name => name !== 'url')
const processes = everyServer.filter(name => name !== 'plugin')
const onSqlite = everyServer.filter(name => name.endsWith('-sqlite'))
const onMongo = everyServer.filter(name => name.endsWith('-mongodb'))

/** What the plugin is compared with by default: what Fastify, or Node, costs by itself. */
export const floors = ['fastify-token', 'fastify', 'bare']

export const cases: Record<CaseName, Case> = {
  create: { what: 'distinct plants', servers: processes, connections: [64] },
  single: { what: 'one request at a time', servers: onSqlite, connections: [1] },
  latency: { what: 'at equal rates', servers: onSqlite, connections: [64], vary: 'rate' },
  commits: { what: 'how many plants share a commit', servers: ['ours-sqlite'], connections: [1, 4, 16, 64, 256] },
  distance: { what: 'a distant MongoDB', servers: onMongo, connections: [512], vary: 'distance' },
  price: { what: 'the plugin beside Fastify itself, in one process', servers: ['plugin', ...floors], connections: [32] }
}

export const caseNames = Object.keys(cases) as CaseName[]

export const connectionsText = (count: number): string => `${count} connection${count === 1 ? '' : 's'}`

export function specKey ({ case: name, server, connections, runtime: _, ...rest }: Spec): string {
  const others = Object.entries(rest).map(([field, value]) => `${field}=${value}`)
  return [name, server, connectionsText(connections), ...others].join(' ')
}
