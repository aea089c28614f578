import { parseArgs } from 'node:util'
import { caseNames, cases } from './cases.js'
import { contenders } from './contenders.js'

export class WrongOption extends Error {
  override name = 'WrongOption'
}

const servers = contenders.map(({ name }) => name).filter(name => name !== 'url')

const flags = {
  case: ['NAME,...', 'default create,latency,commits; all, or any of:', ...caseNames.map(name => `${name.padEnd(10)}${cases[name].what}`)],
  servers: ['NAME,...', `${servers.slice(0, 6).join(', ')},`, servers.slice(6).join(', ')],
  connections: ['N,...', 'default 64 (single: 1; commits: 1 to 256; distance: 512)'],
  rate: ['N,...', 'latency: create requests per second, default 1000,4000,16000'],
  distances: ['MS,...', 'distance: default 0,1,5,20,50'],
  mongodb: ['URL', 'use databases plant_store_bench_* on this MongoDB, which are dropped afterwards (but not after Ctrl-C);', 'default: a scripted stand-in that keeps plants in memory, not durably'],
  url: ['URL', 'measure a running service instead, with --token; cases create and latency only.', 'It keeps hundreds of thousands of plants: use a service that was set up for this'],
  token: ['TOKEN', 'of the service at --url'],
  env: ['NAME=VALUE', 'for the service\'s process; may be repeated'],
  rounds: ['N', 'default 3; with --published 5, of latency 3'],
  seconds: ['N', 'of each measurement, default 1; with --published 2, and 10 for latency'],
  'warm-up': ['SECONDS', 'of each server, default 3'],
  published: ['', 'the long run that is committed, on an idle machine: all cases, further rounds until those of bare', 'agree within 10 %, and results in bench/published'],
  save: ['NAME', 'results go to bench/results/NAME, or to a path; default latest'],
  compare: ['NAME', 'compare with a saved run; exit with 1 if plant-store got slower beyond the noise, relative to', 'bare node:http if both runs measured it'],
  from: ['NAME', 'create the tables, page and pictures of a saved run again'],
  help: ['', 'this text']
}

export const help = `npm run bench -- [options]

Compares plant-store with bare node:http and with typical alternatives on Fastify and Express. Each server runs in its own
process, is checked for correct answers, warmed up, and measured in rounds that alternate with those of the others. A
wrong answer fails the run.

${Object.entries(flags).map(([name, [argument, ...text]]) => `  ${`--${name} ${argument}`.padEnd(22)}${text.join(`\n${' '.repeat(24)}`)}`).join('\n')}
`

export type Options = ReturnType<typeof readOptions>

type Flag = keyof typeof flags

/** @throws {TypeError | WrongOption} if an option is unknown, or its value cannot be used */
export function readOptions (words: readonly string[]) {
  const given = Object.entries(flags).map(([name, [argument]]) => [name, { type: argument === '' ? 'boolean' : 'string', multiple: true }] as const)
  const { values } = parseArgs({ args: [...words], options: Object.fromEntries(given) })
  const all = (name: Flag): string[] => [values[name] ?? []].flat().map(String)
  const text = (name: Flag): string | undefined => all(name).at(-1)
  const list = (name: Flag): string[] | undefined => text(name)?.split(',').map(one => one.trim())
  const numbers = (name: Flag, least = 1): number[] | undefined => list(name)?.map(one => number(name, one, least))
  const single = (name: Flag, usual: number, least = 1): number => number(name, text(name) ?? `${usual}`, least)
  const [url, token] = [text('url'), text('token')]
  if ((url === undefined) !== (token === undefined)) wrong('--url and --token must be given together')
  if (url !== undefined && !(URL.canParse(url) && /^https?:\/\/[^@]*$/.test(url))) wrong('--url must begin with http:// or https://, without a user')
  const ignored = (['servers', 'mongodb', 'env', 'published'] as const).find(name => text(name) !== undefined)
  if (url !== undefined && ignored !== undefined) wrong(`--${ignored} cannot be used with --url`)
  const isPublished = text('published') !== undefined
  const rounds = single('rounds', isPublished ? 5 : 3)
  const usual = isPublished ? caseNames : url === undefined ? ['create', 'latency', 'commits'] : ['create', 'latency']
  const chosen = list('case') ?? usual
  if (url !== undefined && chosen.some(name => !['create', 'latency'].includes(name))) wrong('--case must be create or latency with --url')
  return {
    cases: chosen.includes('all') ? caseNames : chosen.map(name => oneOf('case', name, caseNames)),
    servers: list('servers')?.map(name => oneOf('servers', name, servers)),
    connections: numbers('connections'),
    rates: numbers('rate') ?? [1000, 4000, 16_000],
    distances: numbers('distances', 0) ?? [0, 1, 5, 20, 50],
    mongodb: text('mongodb'),
    url,
    token,
    environment: Object.fromEntries(all('env').map(pair => /^([A-Z0-9_]+)=(.*)$/s.exec(pair)?.slice(1) ?? wrong(`--env ${pair}: ${pair.includes('=') ? 'a name has only A-Z, 0-9 and _' : 'must be NAME=VALUE'}`))),
    rounds,
    latencyRounds: isPublished ? Math.min(rounds, 3) : rounds,
    seconds: single('seconds', isPublished ? 2 : 1, 0.1),
    latencySeconds: single('seconds', isPublished ? 10 : 1, 0.1),
    warmUp: single('warm-up', 3, 0.1),
    isPublished,
    save: text('save') ?? (isPublished ? 'bench/published' : undefined),
    compare: text('compare'),
    from: text('from'),
    help: text('help') !== undefined
  }
}

function number (option: string, value: string, least: number): number {
  const found = value === '' ? NaN : Number(value)
  const isRight = found >= least && found < Infinity && (least % 1 > 0 || Number.isInteger(found))
  return isRight ? found : wrong(`--${option} ${value === '' ? '""' : value} must be ${least % 1 > 0 ? 'a number' : 'an integer'} of ${least} or more`)
}

function oneOf<T extends string> (option: string, value: string, allowed: readonly T[]): T {
  return allowed.find(one => one === value) ?? wrong(`--${option} ${value} must be one of ${allowed.join(', ')}`)
}

function wrong (message: string): never {
  throw new WrongOption(message)
}
