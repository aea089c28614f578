import { caseNames } from './cases.js'
import type { CaseName } from './cases.js'
import { contenders } from './contenders.js'
import type { Options } from './options.js'
import type { Spec } from './spec.js'

/** The open loops of a run without options: at half of what each took, which is where a service should be run. */
const quickLatency = ['ours-sqlite', 'fastify-sqlite']

/** From the options to what is measured, in the order in which each round goes. */
export function plan (options: Options): Spec[] {
  const { cases } = options
  const all = cases.includes('all')
  const plain = all ? caseNames : caseNames.filter((name) => cases.includes(name))
  const specs = (cases.length === 0 ? ['create'] as const : plain).flatMap((name) => plainCase(name, options))
  if (cases.includes('growth') || all) specs.push(...growth(options))
  if (cases.includes('distance') || all) specs.push(...distance(options))
  if (cases.length === 0 && options.rates.length === 0 && options.url === undefined) {
    const halved = specs.filter(({ server, kind }) => kind === 'closed' && quickLatency.includes(server))
    specs.push(...halved.map((spec): Spec => ({ ...spec, kind: 'open', rate: { share: 0.5 } })))
  }
  return specs
}

function plainCase (caseName: CaseName, options: Options): Spec[] {
  const servers = options.url === undefined ? options.servers ?? contenders.map(({ name }) => name) : ['url']
  return (options.connections ?? [64]).flatMap((connections) => servers.flatMap((server): Spec[] => {
    const closed: Spec = { kind: 'closed', server, caseName, connections, order: options.order ?? 'growing', ...mongoOf(server, options) }
    return [closed, ...options.rates.map((rate): Spec => ({ ...closed, kind: 'open', rate }))]
  }))
}

function growth (options: Options): Spec[] {
  const sizes = [0, ...[100, 10, 1].map((part) => Math.floor(options.plants / part))]
  const servers = options.servers?.filter((name) => name.endsWith('-sqlite')) ?? ['ours-sqlite']
  return (options.connections ?? [64]).flatMap((connections) => servers.flatMap((server) => sizes.map((plants): Spec => (
    { kind: 'closed', server, caseName: 'create', connections, order: options.order ?? 'random', plants }
  ))))
}

function distance (options: Options): Spec[] {
  const servers = options.servers?.filter((name) => name.endsWith('-mongodb')) ?? ['ours-mongodb', 'fastify-mongodb']
  return (options.connections ?? [512]).flatMap((connections) => servers.flatMap((server) => options.distances.map((distance): Spec => (
    { kind: 'closed', server, caseName: 'create', connections, order: options.order ?? 'growing', distance, ...mongoOf(server, options) }
  ))))
}

function mongoOf (server: string, options: Options): Pick<Spec, 'mongodb'> {
  return server.endsWith('-mongodb') ? { mongodb: options.mongodb === undefined ? 'scripted' : 'given' } : {}
}
