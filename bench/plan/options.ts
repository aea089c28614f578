import { parseArgs } from 'node:util'
import { caseNames, cases as allCases, everyServer, type CaseName } from './cases.js'
import { pocketBaseVersion, variant } from './contenders.js'

const texts = [
  'case', 'servers', 'connections', 'rate', 'stored', 'distances', 'nodes', 'mongodb', 'pocketbase', 'url', 'token',
  'rounds', 'seconds', 'warm-up', 'save', 'from'
] as const
type TextOption = typeof texts[number]
const textTypes = Object.fromEntries(
  texts.map(name => [name, { type: 'string' }])
) as Record<TextOption, { type: 'string' }>
/** They choose what is measured: results of such a run are not comparable with those of a full one. */
const choices = [
  'case', 'servers', 'connections', 'rate', 'stored', 'distances', 'rounds', 'seconds', 'warm-up'
] as const

const onlyFor = [['rate', 'latency'], ['stored', 'stored'], ['distances', 'distance'], ['nodes', 'price']] as const

const indented = (lines: readonly string[]): string => lines.join(`\n${' '.repeat(22)}`)

export const help = `npm run bench -- [options]

Compares plant-store with bare node:http and with typical alternatives on Fastify and Express.
Each server runs in its own process, is checked for correct answers, warmed up, and measured in
rounds that alternate with those of the others. A wrong answer fails the run.

  --case NAME,...     default create,latency,commits; all, or any of:
                      ${indented(caseNames.map(name => `${name.padEnd(11)}${allCases[name].what}`))}
  --servers NAME,...  ${everyServer.slice(0, 5).join(', ')},
                      ${everyServer.slice(5, 9).join(', ')},
                      ${everyServer.slice(9, 12).join(', ')},
                      ${everyServer.slice(12).join(', ')}
                      NAME@WHAT: the same with another build of plant-store (the folder of a checkout
                      that is built), another Node (its program), or a variable (NAME=VALUE)
  --connections N,... default 64 (single: 1; commits: 1 to 256; distance: 512; price: 32)
  --rate N,...        latency: create requests per second, default 1000,4000,16000
  --stored N,...      stored: plants that are there before, default 10,100000,1000000
  --distances MS,...  distance: default 0,5,20
  --nodes PATH,...    price: also on these programs of Node
  --mongodb URL       use databases plant_store_bench_* on this MongoDB, which are dropped afterwards
                      (but not after Ctrl-C); default: a scripted stand-in that keeps plants in memory
  --pocketbase PATH   the program of PocketBase, to measure it too (bench/README.md has how to build it)
  --url URL           measure a running service instead, with --token; cases create and latency only.
                      It keeps hundreds of thousands of plants: use one that was set up for this
  --token TOKEN       of the service at --url
  --rounds N          default 3; with --published 5
  --seconds N         of each measurement, default 1; with --published 4, and 5 for latency
  --warm-up SECONDS   of each server, default 3
  --published         the long run that is committed: all cases but distance, into bench/published
  --save NAME         results go to bench/results/NAME, or to a path. Default: latest; url with --url;
                      partial if cases, servers, connections, rates, sizes, distances, rounds or times
                      are chosen
  --from NAME         create the tables, page and pictures of a saved run again
  --help              this text
`

const quickCases: CaseName[] = ['create', 'latency', 'commits']
const quick = { cases: quickCases, rounds: 3, seconds: 1, latencySeconds: 1, save: 'latest' }
const longCases = caseNames.filter(name => name !== 'distance')
const long: typeof quick = { cases: longCases, rounds: 5, seconds: 4, latencySeconds: 5, save: 'bench/published' }

export type Options = ReturnType<typeof readOptions>

/** @throws {TypeError} if an option is unknown, or its value cannot be used */
export function readOptions (words: readonly string[]) {
  const { published: isPublished = false, help = false, ...given } = parseArgs({
    args: [...words],
    options: { ...textTypes, published: { type: 'boolean' }, help: { type: 'boolean' } }
  }).values
  const text = (name: TextOption): string | undefined => given[name]
  const [url, token] = [text('url'), text('token')]
  if ((url === undefined) !== (token === undefined)) throw new TypeError('--url and --token must be given together')
  if (url !== undefined && !(URL.canParse(url) && /^https?:\/\/[^@]*$/.test(url))) {
    throw new TypeError('--url must begin with http:// or https://, without a user')
  }
  if (url !== undefined && isPublished) throw new TypeError('--published measures plant-store itself: leave out --url')

  const pocketbase = text('pocketbase')
  if (pocketbase !== undefined) pocketBaseVersion(pocketbase)

  const list = (name: TextOption): string[] | undefined => text(name)?.split(',').map(one => one.trim())
  const numbers = (name: TextOption, least = 1): number[] | undefined =>
    list(name)?.map(one => number(name, one, least))
  const single = (name: TextOption, defaultValue: number, least = 1): number =>
    number(name, text(name) ?? `${defaultValue}`, least)

  const defaults = isPublished ? long : quick
  const chosen = list('case') ?? defaults.cases
  const cases = chosen.includes('all') ? caseNames : chosen.map(name => oneOf('case', name, caseNames))
  for (const [option, only] of onlyFor) {
    if (text(option) === undefined || cases.includes(only)) continue
    throw new TypeError(`--${option} is for the case ${only}, which is not chosen`)
  }
  const seconds = single('seconds', defaults.seconds, 0.1)
  let save = defaults.save
  if (choices.some(name => text(name) !== undefined)) save = 'partial'
  if (url !== undefined) save = 'url'
  return {
    cases,
    servers: list('servers')?.map(name => {
      const server = oneOf('servers', name.replace(/@.*/, ''), everyServer)
      if (server === 'pocketbase' && pocketbase === undefined) {
        throw new TypeError('--servers pocketbase needs its program: add --pocketbase PATH')
      }
      return variant(name).name
    }),
    connections: numbers('connections'),
    rates: numbers('rate') ?? [1000, 4000, 16_000],
    stored: numbers('stored') ?? [10, 100_000, 1_000_000],
    distances: numbers('distances', 0) ?? [0, 5, 20],
    nodes: list('nodes')?.map(node => variant(`plugin@${node}`).node) ?? [],
    mongodb: text('mongodb'),
    pocketbase,
    url,
    token,
    rounds: single('rounds', defaults.rounds),
    /** Seconds at the start of each round that are not measured: connections open, and caches fill. */
    leadIn: Math.min(0.5, seconds),
    seconds,
    latencySeconds: single('seconds', defaults.latencySeconds, 0.1),
    warmUp: single('warm-up', 3, 0.1),
    isPublished,
    /** The name or path of the folder of its results. A run that is only a part of another does not replace it. */
    save: text('save') ?? text('from') ?? save,
    from: text('from'),
    help
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
