import { parseArgs } from 'node:util'
import { caseNames, cases as allCases, everyServer as servers, type CaseName } from './cases.js'
import { variant } from './contenders.js'

/** What each option takes, and the lines of its help. */
const flags = {
  case: {
    takes: 'NAME,...',
    help: [
      'default create,latency,commits; all, or any of:',
      ...caseNames.map(name => `${name.padEnd(10)}${allCases[name].what}`)
    ]
  },
  servers: {
    takes: 'NAME,...',
    help: [
      `${servers.slice(0, 5).join(', ')},`,
      `${servers.slice(5, 9).join(', ')},`,
      servers.slice(9).join(', '),
      'NAME@WHAT: the same with another build of plant-store (the folder of a checkout',
      'that is built), another Node (its program), or a variable (NAME=VALUE)'
    ]
  },
  connections: { takes: 'N,...', help: ['default 64 (single: 1; commits: 1 to 256; distance: 512; price: 32)'] },
  rate: { takes: 'N,...', help: ['latency: create requests per second, default 1000,4000,16000'] },
  distances: { takes: 'MS,...', help: ['distance: default 0,1,5,20,50; with --published 0,5,20'] },
  nodes: { takes: 'PATH,...', help: ['price: also on these programs of Node'] },
  mongodb: {
    takes: 'URL',
    help: [
      'use databases plant_store_bench_* on this MongoDB, which are dropped afterwards',
      '(but not after Ctrl-C); default: a scripted stand-in that keeps plants in memory'
    ]
  },
  url: {
    takes: 'URL',
    help: [
      'measure a running service instead, with --token; cases create and latency only.',
      'It keeps hundreds of thousands of plants: use one that was set up for this'
    ]
  },
  token: { takes: 'TOKEN', help: ['of the service at --url'] },
  rounds: { takes: 'N', help: ['default 3; with --published 5'] },
  seconds: { takes: 'N', help: ['of each measurement, default 1; with --published 2, and 6 for latency'] },
  'warm-up': { takes: 'SECONDS', help: ['of each server, default 3'] },
  published: { takes: '', help: ['the long run that is committed: all cases, into bench/published'] },
  save: {
    takes: 'NAME',
    help: [
      'results go to bench/results/NAME, or to a path. Default: latest; url with --url;',
      'partial if cases, servers, connections, rates, rounds or times are chosen'
    ]
  },
  from: { takes: 'NAME', help: ['create the tables, page and pictures of a saved run again'] },
  help: { takes: '', help: ['this text'] }
}

const WARM_UP = 3

interface Defaults {
  cases: CaseName[]
  rounds: number
  seconds: number
  latencySeconds: number
  distances: number[]
  save: string
}

const quick: Defaults = {
  cases: ['create', 'latency', 'commits'],
  rounds: 3,
  seconds: 1,
  latencySeconds: 1,
  distances: [0, 1, 5, 20, 50],
  save: 'latest'
}

const long: Defaults = {
  cases: caseNames,
  rounds: 5,
  seconds: 2,
  latencySeconds: 6,
  distances: [0, 5, 20],
  save: 'bench/published'
}

type Flag = keyof typeof flags
export type Options = ReturnType<typeof readOptions>

export const help = `npm run bench -- [options]

Compares plant-store with bare node:http and with typical alternatives on Fastify and Express.
Each server runs in its own process, is checked for correct answers, warmed up, and measured in
rounds that alternate with those of the others. A wrong answer fails the run.

${Object.entries(flags).map(([name, { takes, help }]) => helpOf(`--${name} ${takes}`, help)).join('\n')}
`

function helpOf (option: string, lines: readonly string[]): string {
  return `  ${option.padEnd(20)}${lines.join(`\n${' '.repeat(22)}`)}`
}

/** @throws {TypeError} if an option is unknown, or its value cannot be used */
export function readOptions (words: readonly string[]) {
  const types = Object.entries(flags).map(([name, { takes }]) =>
    [name, { type: takes === '' ? 'boolean' : 'string' }] as const)
  const { values } = parseArgs({ args: [...words], options: Object.fromEntries(types) })
  const text = (name: Flag): string | undefined => values[name]?.toString()
  const list = (name: Flag): string[] | undefined => text(name)?.split(',').map(one => one.trim())
  const numbers = (name: Flag, least = 1): number[] | undefined => list(name)?.map(one => number(name, one, least))
  const single = (name: Flag, defaultValue: number, least = 1): number =>
    number(name, text(name) ?? `${defaultValue}`, least)

  const isPublished = text('published') !== undefined
  const [url, token] = [text('url'), text('token')]
  if ((url === undefined) !== (token === undefined)) throw new TypeError('--url and --token must be given together')
  if (url !== undefined && !(URL.canParse(url) && /^https?:\/\/[^@]*$/.test(url))) {
    throw new TypeError('--url must begin with http:// or https://, without a user')
  }
  if (url !== undefined && isPublished) throw new TypeError('--published measures plant-store itself: leave out --url')

  const defaults = isPublished ? long : quick
  const chosen = list('case') ?? defaults.cases
  const cases = chosen.includes('all') ? caseNames : chosen.map(name => oneOf('case', name, caseNames))
  const rounds = single('rounds', defaults.rounds)
  const seconds = single('seconds', defaults.seconds, 0.1)
  const warmUp = single('warm-up', WARM_UP, 0.1)
  const narrowing: Flag[] = ['url', 'servers', 'connections', 'rate']
  const isWhole = narrowing.every(name => text(name) === undefined) &&
    defaults.cases.every(name => cases.includes(name)) &&
    rounds >= defaults.rounds && seconds >= defaults.seconds && warmUp >= WARM_UP
  const part = url === undefined ? 'partial' : 'url'
  return {
    cases,
    servers: list('servers')?.map(name => oneOf('servers', name.replace(/@.*/, ''), servers) && variant(name).name),
    connections: numbers('connections'),
    rates: numbers('rate') ?? [1000, 4000, 16_000],
    distances: numbers('distances', 0) ?? defaults.distances,
    nodes: list('nodes')?.map(node => variant(`plugin@${node}`).node) ?? [],
    mongodb: text('mongodb'),
    url,
    token,
    rounds,
    /** Seconds at the start of each round that are not measured: connections open, and caches fill. */
    leadIn: Math.min(0.5, seconds),
    seconds,
    latencySeconds: single('seconds', defaults.latencySeconds, 0.1),
    warmUp,
    isPublished,
    /** The name or path of the folder of its results. A run that is only a part of another does not replace it. */
    save: text('save') ?? text('from') ?? (isWhole ? defaults.save : part),
    from: text('from'),
    help: text('help') !== undefined
  }
}

function number (option: string, value: string, least: number): number {
  const found = value === '' ? NaN : Number(value)
  const isFraction = least % 1 > 0
  if (found >= least && found < Infinity && (isFraction || Number.isInteger(found))) return found
  throw new TypeError(`--${option} "${value}" must be ${isFraction ? 'a number' : 'an integer'} of ${least} or more`)
}

function oneOf<T extends string> (option: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find(one => one === value)
  if (found === undefined) throw new TypeError(`--${option} "${value}" must be one of ${allowed.join(', ')}`)
  return found
}
