import { cases, floors, type CaseName, type Spec } from './cases.js'
import { variant } from './contenders.js'
import type { Options } from './options.js'

/** Derives the measurements from the options, in the order of each round. */
export function plan (options: Options): Spec[] {
  const values = { rate: options.rates, distance: options.distances }
  return options.cases.flatMap(name => {
    const { connections, vary } = cases[name]
    const specs = serversOf(name, options).flatMap(server => (options.connections ?? connections).flatMap(count => {
      const spec: Spec = { case: name, server, connections: count }
      if (name === 'price') return [{ ...spec, runtime: variant(server).runtime }]
      return vary === undefined ? [spec] : values[vary].map((value): Spec => ({ ...spec, [vary]: value }))
    }))
    // All servers at one rate, then all at the next, so that they are compared under the same conditions.
    return vary === 'rate' ? specs.sort((a, b) => (a.rate ?? 0) - (b.rate ?? 0)) : specs
  })
}

function serversOf (name: CaseName, { url, servers, mongodb, nodes }: Options): string[] {
  const all = cases[name].servers
  if (url !== undefined) return name === 'create' || name === 'latency' ? ['url'] : []
  const chosen = servers?.filter(server => all.includes(server.replace(/@.*/, '')))
  if (name === 'price') return withFloors(chosen ?? ['plugin', ...nodes.map(node => `plugin@${node}`)])
  // On a scripted MongoDB, Fastify represents all peers.
  return chosen ?? all.filter(server => mongodb !== undefined || server !== 'express-mongodb')
}

/** Adds the floors, on the same Node, to a plugin that has nothing beside it. The first is the one to compare. */
function withFloors (servers: readonly string[]): string[] {
  const isPlugin = (server: string): boolean => server.startsWith('plugin')
  const pluginsFirst = [...servers.filter(isPlugin), ...servers.filter(server => !isPlugin(server))]
  return groupedBy(pluginsFirst, server => variant(server).runtime).flatMap(group => {
    const [first = ''] = group
    const isAlone = group.length === 1 && isPlugin(first)
    return isAlone ? [first, ...floors.map(floor => `${floor}${variant(first).runtime}`)] : group
  })
}

export function groupedBy<T> (all: readonly T[], keyOf: (one: T) => string): T[][] {
  const groups = new Map<string, T[]>()
  for (const one of all) groups.set(keyOf(one), [...groups.get(keyOf(one)) ?? [], one])
  return [...groups.values()]
}

/** Specs of the case `price` that share a process. */
export const processKey = ({ runtime = '', connections }: Spec): string => `${connections} ${runtime}`
