import { parseArgs } from 'node:util'
import { caseNames } from './cases.js'
import { contenders } from './contenders.js'
import type { IdOrder } from './plant-ids.js'

export interface Options {
  cases: string[]
  servers: string[] | undefined
  connections: number[] | undefined
  duration: number | undefined
  warmUp: number | undefined
  rounds: number | undefined
  rates: Array<number | { share: number }>
  order: IdOrder | undefined
  plants: number
  distances: number[]
  mongodb: string | undefined
  url: string | undefined
  token: string | undefined
  targets: string[] | undefined
  save: string | undefined
  compare: string | undefined
  picture: string | undefined
  generator: 'autocannon' | 'lean'
  pin: boolean
  folder: string | undefined
  environment: Record<string, string>
  help: boolean
}

export class WrongOption extends Error {
  override name = 'WrongOption'
}

const specialCases = ['growth', 'distance', 'all']

export const help = `npm run bench -- [options]

Measures plant-store beside bare node:http and the servers one would write first. Each server runs in a process of its
own, is proven right, warmed up, and measured in interleaved rounds, for which it stays; a wrong answer fails the run.
Without options: case create, all servers, 64 connections, and open loops at half rate, in under 3 minutes.

what
  --case NAME,...         ${caseNames.join(', ')};
                          growth (a store of 0 to --plants), distance (a MongoDB far away), all
  --servers NAME,...      ${wrap(contenders.map(({ name }) => name), 26)}
  --connections N,...     default 64 (distance: 512)
  --rate N,... | N%,...   open loops too: starts a second, or a share of the server's own full rate;
                          latency counts from the intended start
  --ids growing|random    default growing (growth: random)
  --plants N              how far growth goes, default 10000000
  --distances MS,...      default 0,1,5,20,50
  --targets [ROW,...]     the table of targets, all rows or those named; --targets list shows the names
  --url URL --token T     load a running service instead of starting servers

how
  --duration SECONDS      of each measurement, default 1.5 (targets: 2)
  --warm-up SECONDS       before the first round, thrown away, default 3 (targets: 8)
  --rounds N              default 3 (targets: 9)
  --mongodb URL           use this MongoDB (a database of its own, dropped afterwards) instead of a scripted one in memory
  --generator autocannon|lean
                          of closed loops; lean costs half the processor time, for machines with few cores
  --pin                   the load generator has the last processor for itself (taskset); in open loops it always has
  --env NAME=VALUE        for plant-store's processes, e.g. WORKERS=2; may be repeated
  --folder PATH           where stores are put, default a temporary folder: durable writes are as slow as its disk

results
  --save NAME             bench/results/NAME.json and NAME.html; without it, latest
  --compare NAME          against a saved run; a regression beyond the noise exits with 1
  --picture FILE          an SVG of the throughput, for the README
  --help
`

export function readOptions (words: readonly string[]): Options {
  const { values } = parse(words)
  const cases = list(values.case) ?? []
  for (const name of cases) mustBe('--case', name, [...caseNames, ...specialCases])
  const servers = list(values.servers)
  for (const name of servers ?? []) mustBe('--servers', name, contenders.map((contender) => contender.name))
  if ((values.url === undefined) !== (values.token === undefined)) throw new WrongOption('--url and --token go together')
  if (values.url !== undefined && !URL.canParse(values.url)) throw new WrongOption(`--url ${values.url} is no address`)
  if (values.url !== undefined && cases.some((name) => specialCases.includes(name))) {
    throw new WrongOption('growth, distance and all need servers of the suite\'s own, not --url')
  }
  return {
    cases,
    servers,
    connections: list(values.connections)?.map((text) => number('--connections', text, true)),
    duration: values.duration === undefined ? undefined : number('--duration', values.duration),
    warmUp: values['warm-up'] === undefined ? undefined : number('--warm-up', values['warm-up']),
    rounds: values.rounds === undefined ? undefined : number('--rounds', values.rounds, true),
    rates: (list(values.rate) ?? []).map((text) => text.endsWith('%')
      ? { share: number('--rate', text.slice(0, -1)) / 100 }
      : number('--rate', text)),
    order: values.ids === undefined ? undefined : mustBe<IdOrder>('--ids', values.ids, ['growing', 'random']),
    plants: number('--plants', values.plants, true),
    distances: (list(values.distances) ?? []).map((text) => text === '0' ? 0 : number('--distances', text, true)),
    mongodb: values.mongodb,
    url: values.url,
    token: values.token,
    targets: list(values.targets),
    save: values.save,
    compare: values.compare,
    picture: values.picture,
    generator: mustBe('--generator', values.generator, ['autocannon', 'lean']),
    pin: values.pin,
    folder: values.folder,
    environment: Object.fromEntries((values.env ?? []).map((text) => {
      const [, name = '', value = ''] = /^([A-Z_]+)=(.*)$/s.exec(text) ?? []
      if (name === '') throw new WrongOption(`--env ${text} is not NAME=VALUE`)
      return [name, value]
    })),
    help: values.help
  }
}

function parse (words: readonly string[]) {
  // parseArgs knows no option with an optional value: --targets alone means all of them.
  const args = words.flatMap((word, at) => word === '--targets' && (words[at + 1] ?? '--').startsWith('--') ? ['--targets=all'] : [word])
  try {
    return parseArgs({
      args,
      options: {
        case: { type: 'string' },
        servers: { type: 'string' },
        connections: { type: 'string' },
        duration: { type: 'string' },
        'warm-up': { type: 'string' },
        rounds: { type: 'string' },
        rate: { type: 'string' },
        ids: { type: 'string' },
        plants: { type: 'string', default: '10000000' },
        distances: { type: 'string', default: '0,1,5,20,50' },
        mongodb: { type: 'string' },
        url: { type: 'string' },
        token: { type: 'string' },
        targets: { type: 'string' },
        save: { type: 'string' },
        compare: { type: 'string' },
        picture: { type: 'string' },
        generator: { type: 'string', default: 'autocannon' },
        pin: { type: 'boolean', default: false },
        folder: { type: 'string' },
        env: { type: 'string', multiple: true },
        help: { type: 'boolean', default: false }
      }
    })
  } catch (error) {
    throw new WrongOption((error as Error).message)
  }
}

function list (text: string | undefined): string[] | undefined {
  return text?.split(',').map((one) => one.trim()).filter((one) => one !== '')
}

function number (option: string, text: string, whole = false): number {
  const value = Number(text)
  if (!(value > 0) || !Number.isFinite(value) || (whole && !Number.isInteger(value))) {
    throw new WrongOption(`${option} ${text}: a ${whole ? 'whole ' : ''}number above 0 is needed`)
  }
  return value
}

function mustBe<T extends string> (option: string, value: string, allowed: readonly T[]): T {
  if (!(allowed as readonly string[]).includes(value)) {
    throw new WrongOption(`${option} ${value}: must be one of ${allowed.join(', ')}`)
  }
  return value as T
}

function wrap (words: readonly string[], indent: number): string {
  return words.join(', ').replace(/(.{60,80}?, )/g, `$1\n${' '.repeat(indent)}`)
}
