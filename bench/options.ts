import { parseArgs } from 'node:util'
import { caseNames, cases } from './cases.js'
import { contenders } from './contenders.js'

export class WrongOption extends Error {
  override name = 'WrongOption'
}

const servers = contenders.map(({ name }) => name).filter(name => name !== 'url')

/** The argument of each option, and the lines of its description. */
const flags = {
  case: ['NAME,...', 'default create,latency,commits; or all of', ...caseNames.map(name => `${name.padEnd(10)}${cases[name].what}`)],
  servers: ['NAME,...', servers.slice(0, 6).join(', '), servers.slice(6).join(', ')],
  connections: ['N,...', 'default 64 (single: 1; commits: 1 to 256; distance: 512; workers: 64 and 512)'],
  rate: ['N,...', 'latency: create requests per second, default 1000,4000,16000'],
  plants: ['N', 'growth: size of the largest store, default 10000000'],
  distances: ['MS,...', 'distance: default 0,1,5,20,50'],
  workers: ['N,...', 'workers: default 1,4'],
  mongodb: ['URL', 'use this MongoDB, and in it a database that is dropped afterwards; default: a scripted stand-in', 'that keeps plants in memory, not durably'],
  url: ['URL', 'measure a running service instead, with --token; cases create and latency only'],
  token: ['TOKEN', 'of the service at --url'],
  env: ['NAME=VALUE', 'for the service\'s processes; may be repeated'],
  rounds: ['N', 'default 3'],
  duration: ['SECONDS', 'of each measurement, default 1'],
  'warm-up': ['SECONDS', 'of each server, default 3'],
  save: ['NAME', 'results go to bench/results/NAME, or to a path; default latest'],
  compare: ['NAME', 'compare with a saved run; exit with 1 on a regression beyond the noise'],
  from: ['NAME', 'draw tables, page and pictures of a saved run again'],
  help: ['', 'this text']
}

export const help = `npm run bench -- [options]

Compares plant-store with bare node:http and with simple servers on Fastify and Express. Each server runs in a process of
its own, is checked and warmed up, and is measured in rounds that alternate with those of the others. A wrong answer fails
the run.

${Object.entries(flags).map(([name, [argument, ...text]]) => `  ${`--${name} ${argument}`.padEnd(22)}${text.join(`\n${' '.repeat(24)}`)}`).join('\n')}
`

export type Options = ReturnType<typeof readOptions>

/** @throws {TypeError | WrongOption} if an option is unknown, or its value cannot be used */
export function readOptions (words: readonly string[]) {
  const given = Object.entries(flags).map(([name, [argument]]) => [name, { type: argument === '' ? 'boolean' : 'string', multiple: true }] as const)
  const { values } = parseArgs({ args: [...words], options: Object.fromEntries(given) })
  const all = (name: keyof typeof flags): string[] => [values[name] ?? []].flat().map(String)
  const text = (name: keyof typeof flags): string | undefined => all(name).at(-1)
  const list = (name: keyof typeof flags): string[] | undefined => text(name)?.split(',').map(one => one.trim()).filter(Boolean)
  const numbers = (name: keyof typeof flags, least = 1): number[] | undefined =>
    list(name)?.map(one => number(name, one, least))
  const url = text('url')
  const token = text('token')
  if (url === undefined ? token !== undefined : token === undefined || !URL.canParse(url)) wrong('--url must be a valid URL, together with --token')
  const chosen = list('case') ?? ['create', 'latency', ...(url === undefined ? ['commits'] : [])]
  if (url !== undefined && chosen.some(name => !['create', 'latency'].includes(name))) wrong('--case must be create or latency with --url')
  return {
    cases: chosen.includes('all') ? caseNames : chosen.map(name => oneOf('case', name, caseNames)),
    servers: list('servers')?.map(name => oneOf('servers', name, servers)),
    connections: numbers('connections'),
    rates: numbers('rate') ?? [1000, 4000, 16_000],
    plants: numbers('plants')?.[0] ?? 10_000_000,
    distances: numbers('distances', 0) ?? [0, 1, 5, 20, 50],
    workers: numbers('workers') ?? [1, 4],
    mongodb: text('mongodb'),
    url,
    token,
    environment: Object.fromEntries(all('env').map(pair => /^([A-Z_]+)=(.*)$/s.exec(pair)?.slice(1) ?? wrong(`--env ${pair} must be NAME=VALUE`))),
    rounds: numbers('rounds')?.[0] ?? 3,
    duration: numbers('duration', 0.1)?.[0] ?? 1,
    warmUp: numbers('warm-up', 0.1)?.[0] ?? 3,
    save: text('save') ?? 'latest',
    compare: text('compare'),
    from: text('from'),
    help: text('help') !== undefined
  }
}

function number (option: string, value: string, least: number): number {
  const found = Number(value)
  const isRight = found >= least && found < Infinity && (least < 1 || Number.isInteger(found))
  return isRight ? found : wrong(`--${option} ${value} must be ${least < 1 ? 'a number' : 'an integer'} of ${least} or more`)
}

function oneOf<T extends string> (option: string, value: string, allowed: readonly T[]): T {
  return allowed.find(one => one === value) ?? wrong(`--${option} ${value} must be one of ${allowed.join(', ')}`)
}

function wrong (message: string): never {
  throw new WrongOption(message)
}
