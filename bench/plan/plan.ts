import { cases, type CaseName, type Spec } from './cases.js'
import { variant } from './contenders.js'
import type { Options } from './options.js'

/** Derives the measurements from the options, in the order of each round. */
export function plan (options: Options): Spec[] {
  const specs: Spec[] = []
  for (const name of options.cases) {
    const rates = name === 'latency' ? options.rates : [undefined]
    const distances = name === 'distance' ? options.distances : [undefined]
    const servers = serversOf(name, options)
    // All servers at one rate, then all at the next, so that they are compared under the same conditions.
    for (const rate of rates) {
      for (const server of servers) {
        const node = name === 'price' ? variant(server).node : undefined
        for (const connections of options.connections ?? cases[name].connections) {
          for (const distance of distances) specs.push({ case: name, server, connections, rate, distance, node })
        }
      }
    }
  }
  return specs
}

function serversOf (name: CaseName, { url, servers, mongodb, nodes }: Options): string[] {
  const all = cases[name].servers
  if (url !== undefined) return name === 'create' || name === 'latency' ? ['url'] : []
  const chosen = servers?.filter(server => all.includes(server.replace(/@.*/, '')))
  if (name === 'price') return onEachNode(chosen ?? all, nodes)
  // On a scripted MongoDB, Fastify represents all peers.
  return chosen ?? all.filter(server => mongodb !== undefined || server !== 'express-mongodb')
}

function onEachNode (servers: readonly string[], nodes: readonly string[]): string[] {
  if (servers.some(server => /@[A-Z0-9_]+=/.test(server))) {
    throw new TypeError('the servers of --case price share a process: compare variables with another case')
  }
  return ['', ...nodes.map(node => `@${node}`)].flatMap(node => servers.map(server => `${server}${node}`))
}
