import { cases, oneAtATime, type CaseName, type Spec } from './cases.js'
import { variant } from './contenders.js'
import type { Options } from './options.js'

/** Derives the measurements from the options, in the order of each round. */
export function plan (options: Options): Spec[] {
  const specs: Spec[] = []
  for (const name of options.cases) {
    const servers = serversOf(name, options)
    const chosen = oneAtATime.includes(name) ? undefined : options.connections
    const distances = name === 'distance' ? options.distances : [undefined]
    // All servers under one condition, then all under the next, so that they are compared under the same.
    for (const condition of conditionsOf(name, options)) {
      for (const server of servers) {
        const node = name === 'price' || name === 'one-create' ? variant(server).node : undefined
        for (const connections of chosen ?? cases[name].connections) {
          for (const distance of distances) {
            specs.push({ case: name, server, connections, ...condition, distance, node })
          }
        }
      }
    }
  }
  return specs
}

function conditionsOf (name: CaseName, { rates, stored }: Options): Array<Pick<Spec, 'rate' | 'stored'>> {
  if (name === 'latency') return rates.map(rate => ({ rate }))
  if (name === 'stored') return stored.map(size => ({ stored: size }))
  return [{}]
}

function serversOf (name: CaseName, { url, servers, mongodb, pocketbase, nodes }: Options): string[] {
  const all = cases[name].servers
  if (url !== undefined) return name === 'create' || name === 'latency' ? ['url'] : []
  const chosen = servers?.filter(server => all.includes(server.replace(/@.*/, '')))
  if (name === 'price') return onEachNode(chosen ?? all, nodes)
  if (chosen !== undefined) return chosen
  const left = new Set<string>()
  // On a scripted MongoDB, Fastify represents all peers.
  if (mongodb === undefined) left.add('express-mongodb')
  // Filling it takes long, and what stands in for MongoDB may read all plants to find one, as FerretDB does.
  if (name === 'stored') left.add('ours-mongodb')
  if (pocketbase === undefined) left.add('pocketbase')
  return all.filter(server => !left.has(server))
}

function onEachNode (servers: readonly string[], nodes: readonly string[]): string[] {
  if (servers.some(server => /@[A-Z0-9_]+=/.test(server))) {
    throw new TypeError('the servers of --case price share a process: compare variables with another case')
  }
  return ['', ...nodes.map(node => `@${node}`)].flatMap(node => servers.map(server => `${server}${node}`))
}
