import { parseArgs } from 'node:util'
import { variant } from './contenders.js'
import { caseNames, cases, everyServer as servers } from './plan.js'

const flags = {
  case: ['NAME,...', 'default create,latency,commits; all, or any of:', ...caseNames.map(name => `${name.padEnd(10)}${cases[name].what}`)],
  servers: [
    'NAME,...', `${servers.slice(0, 5).join(', ')},`, `${servers.slice(5, 9).join(', ')},`, servers.slice(9).join(', '),
    'NAME@WHAT: the same with another Node or build of plant-store (the path of its',
    'main.js), or with a variable of its environment (NAME=VALUE)'
  ],
  connections: ['N,...', 'default 64 (single: 1; commits: 1 to 256; distance: 512)'],
  rate: ['N,...', 'latency: create requests per second, default 1000,4000,16000'],
  distances: ['MS,...', 'distance: default 0,1,5,20,50'],
  mongodb: [
    'URL', 'use databases plant_store_bench_* on this MongoDB, which are dropped afterwards',
    '(but not after Ctrl-C); default: a scripted stand-in that keeps plants in memory'
  ],
  url: [
    'URL', 'measure a running service instead, with --token; cases create and latency only.',
    'It keeps hundreds of thousands of plants: use one that was set up for this'
  ],
  token: ['TOKEN', 'of the service at --url'],
  rounds: ['N', 'default 3; with --published 5'],
  seconds: ['N', 'of each measurement, default 1; with --published 2, and 10 for latency'],
  'warm-up': ['SECONDS', 'of each server, default 3'],
  published: ['', 'the long run that is committed: all cases, into bench/published'],
  save: ['NAME', 'results go to bench/results/NAME, or to a path; default latest'],
  from: ['NAME', 'create the tables, page and pictures of a saved run again'],
  help: ['', 'this text']
}

type Flag = keyof typeof flags
export type Options = ReturnType<typeof readOptions>

export const help = `npm run bench -- [options]

Compares plant-store with bare node:http and with typical alternatives on Fastify and Express.
Each server runs in its own process, is checked for correct answers, warmed up, and measured in
rounds that alternate with those of the others. A wrong answer fails the run.

${Object.entries(flags).map(([name, [argument, ...text]]) => `  ${`--${name} ${argument}`.padEnd(20)}${text.join(`\n${' '.repeat(22)}`)}`).join('\n')}
`

/** @throws {TypeError} if an option is unknown, or its value cannot be used */
export function readOptions (words: readonly string[]) {
  const given = Object.entries(flags).map(([name, [argument]]) =>
    [name, { type: argument === '' ? 'boolean' : 'string' }] as const)
  const { values } = parseArgs({ args: [...words], options: Object.fromEntries(given) })
  const text = (name: Flag): string | undefined => values[name]?.toString()
  const list = (name: Flag): string[] | undefined => text(name)?.split(',').map(one => one.trim())
  const numbers = (name: Flag, least = 1): number[] | undefined => list(name)?.map(one => number(name, one, least))
  const single = (name: Flag, defaultValue: number, least = 1): number =>
    number(name, text(name) ?? `${defaultValue}`, least)

  const [url, token] = [text('url'), text('token')]
  if ((url === undefined) !== (token === undefined)) throw new TypeError('--url and --token must be given together')
  if (url !== undefined && !(URL.canParse(url) && /^https?:\/\/[^@]*$/.test(url))) {
    throw new TypeError('--url must begin with http:// or https://, without a user')
  }
  const isPublished = text('published') !== undefined
  const seconds = single('seconds', isPublished ? 2 : 1, 0.1)
  const chosen = list('case') ?? (isPublished ? caseNames : ['create', 'latency', 'commits'])
  return {
    cases: chosen.includes('all') ? caseNames : chosen.map(name => oneOf('case', name, caseNames)),
    servers: list('servers')?.map(name => oneOf('servers', name.replace(/@.*/, ''), servers) && variant(name).name),
    connections: numbers('connections'),
    rates: numbers('rate') ?? [1000, 4000, 16_000],
    distances: numbers('distances', 0) ?? [0, 1, 5, 20, 50],
    mongodb: text('mongodb'),
    url,
    token,
    rounds: single('rounds', isPublished ? 5 : 3),
    /** Seconds at the start of each round that are not measured: connections open, and caches fill. */
    leadIn: Math.min(0.5, seconds),
    seconds,
    latencySeconds: single('seconds', isPublished ? 10 : 1, 0.1),
    warmUp: single('warm-up', 3, 0.1),
    isPublished,
    save: text('save') ?? (isPublished ? 'bench/published' : undefined),
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
