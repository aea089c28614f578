import type { CaseName } from './cases.js'
import type { Command } from './start-process.js'

export interface Contender {
  name: string
  label: string
  store: 'none' | 'sqlite' | 'mongodb'
  /** Serves all of CONTRACT.md; the others only what their kind of server can. */
  isOurs: boolean
  /** Cases that would be measured wrong, and why. The table says so instead of giving a figure. */
  cannot: Partial<Record<CaseName, string>>
  /** What the table should say beside a case that is measured, but with something left out. */
  remarks?: Partial<Record<CaseName, string>>
  command: Command
}

const built = ['dist/server/main.js']
const environment = { NODE_ENV: 'production', HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'info' }

const ours: Contender[] = [
  ['ours', 'plant-store, no store', 'none', script('ours-without-store'), {}] as const,
  ['ours-sqlite', 'plant-store, SQLite', 'sqlite', built, {}] as const,
  ['ours-sqlite-log', 'plant-store, SQLite, ACCESS_LOG', 'sqlite', built, { ACCESS_LOG: 'true' }] as const,
  ['ours-mongodb', 'plant-store, MongoDB', 'mongodb', built, {}] as const
].map(([name, label, store, words, more]) => ({
  name, label, store, isOurs: true, cannot: {}, command: { arguments: [...words], environment: { ...environment, ...more } }
}))

const bare: Contender = {
  name: 'bare',
  label: 'bare node:http (no checks, no store)',
  store: 'none',
  isOurs: false,
  cannot: { invalid: 'does not validate', 'no-token': 'checks no token', mix: 'checks nothing' },
  remarks: { 'big-ids': 'parses ids rounded, stores none' },
  command: { arguments: script('bare-node'), environment }
}

const peers: Contender[] = ([
  ['fastify', 'obvious Fastify (Ajv, bearer-auth)', 'obvious-fastify', 'rounds ids beyond 2^53'],
  ['express', 'Express 5 + zod', 'express-zod', 'refuses ids beyond 2^53'],
  ['hono', 'Hono on node-server + zod', 'hono-node', 'refuses ids beyond 2^53']
] as const).flatMap(([name, label, file, bigIds]) => (['sqlite', 'mongodb'] as const).map((store) => ({
  name: `${name}-${store}`,
  label: `${label}, ${store === 'sqlite' ? 'SQLite' : 'MongoDB'}`,
  store,
  isOurs: false,
  cannot: { same: 'answers 400 to the same plant again', 'big-ids': bigIds },
  remarks: { mix: 'without the same again' },
  command: { arguments: script(file), environment }
})))

export const contenders: readonly Contender[] = [bare, ...ours, ...peers]

/** The running service that --url names. */
export function namedService (url: string): Contender {
  return { name: 'url', label: url, store: 'none', isOurs: true, cannot: {}, command: { arguments: [] } }
}

export function contender (name: string): Contender {
  const found = contenders.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no server ${name}: there are ${contenders.map((one) => one.name).join(', ')}`)
  return found
}

function script (name: string): string[] {
  return ['--import=tsx', `bench/servers/${name}.ts`]
}
