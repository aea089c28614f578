import { caseOf, type CaseName } from './cases.js'
import { contender } from './contenders.js'
import type { Options } from './options.js'
import type { Spec } from './results.js'

/** Derives the measurements from the options, in the order of each round. */
export function plan (options: Options): Spec[] {
  return options.cases.flatMap(name => {
    const { connections, vary } = caseOf(name)
    const { rates, distances } = options
    const values = vary && { rate: rates, distance: distances }[vary]
    const specs = serversOf(name, options).flatMap(server => (options.connections ?? connections).flatMap(count => {
      const spec: Spec = { case: name, server, connections: count }
      return vary === undefined ? [spec] : (values ?? []).map((value): Spec => ({ ...spec, [vary]: value }))
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
