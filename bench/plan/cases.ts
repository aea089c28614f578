import { contenders } from './contenders.js'

export type CaseName =
  'create' | 'single' | 'latency' | 'commits' | 'stored' | 'distance' | 'price' | 'one-create' | 'start'

/** A measurement to make once in every round. */
export interface Spec {
  case: CaseName
  server: string
  connections: number
  rate?: number | undefined // create requests per second; undefined for a closed loop
  stored?: number | undefined // plants that the store has before it starts
  distance?: number | undefined // ms of added round-trip time to MongoDB
  node?: string | undefined // the program of the Node in whose process servers take turns
}

/** All but the service at --url. */
export const everyServer = contenders.map(({ name }) => name).filter(name => name !== 'url')
const processes = everyServer.filter(name => name !== 'plugin')
const onSqlite = everyServer.filter(name => name.endsWith('-sqlite'))
const onMongo = everyServer.filter(name => name.endsWith('-mongodb'))
const growing = ['ours-sqlite', 'fastify-sqlite', 'ours-mongodb', 'pocketbase', 'json-server']
const starting = ['ours-sqlite', 'fastify-sqlite']
const stores = ['ours-sqlite', 'group-sqlite']
// The plugin first: the others are compared with it.
const withoutStore = ['plugin', 'fastify-token', 'fastify', 'bare']

export const cases: Record<CaseName, { what: string, servers: string[], connections: number[] }> = {
  create: { what: 'distinct plants', servers: processes, connections: [64] },
  single: { what: 'one request at a time', servers: onSqlite, connections: [1] },
  latency: { what: 'at equal rates', servers: onSqlite, connections: [64] },
  commits: { what: 'how many plants share a commit', servers: ['ours-sqlite'], connections: [1, 4, 16, 64, 256] },
  stored: { what: 'one request at a time, on a store that is filled', servers: growing, connections: [1] },
  distance: { what: 'a distant MongoDB', servers: onMongo, connections: [512] },
  price: { what: 'the plugin beside Fastify itself, in one process', servers: withoutStore, connections: [32] },
  'one-create': { what: 'the store by itself, one plant at a time', servers: stores, connections: [1] },
  start: { what: 'from the start of the process until it listens', servers: starting, connections: [1] }
}

/** The cases whose servers take turns many times in each round. */
export const alternating: readonly CaseName[] = ['price', 'one-create', 'start']

/** The cases with one request at a time, or none. */
export const oneAtATime: readonly CaseName[] = ['stored', 'one-create', 'start']

export const caseNames = Object.keys(cases) as CaseName[]

export const connectionsText = (count: number): string => `${count} connection${count === 1 ? '' : 's'}`

export function specKey ({ case: name, server, connections, rate, stored, distance }: Spec): string {
  const words = [name, server, connectionsText(connections)]
  if (rate !== undefined) words.push(`rate=${rate}`)
  if (stored !== undefined) words.push(`stored=${stored}`)
  if (distance !== undefined) words.push(`distance=${distance}`)
  return words.join(' ')
}
