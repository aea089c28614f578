export interface Contender {
  name: string
  label: string
  store: 'none' | 'sqlite' | 'mongodb'
  /** Whether it is plant-store, so that all of its error codes are checked; of a peer, only the statuses are. */
  isOurs: boolean
  module: URL
  environment: Record<string, string>
}

const service = new URL('../dist/commands/main.js', import.meta.url)

/** A server in `servers`, in the module named by the first word of its name. */
function peer (name: string, label: string, store: Contender['store'], more: object = {}): Contender {
  const environment = { NODE_ENV: 'production', HOST: '127.0.0.1', PORT: '0', ...more }
  return { name, label, store, isOurs: false, module: new URL(`servers/${name.replace(/-.*/, '')}.js`, import.meta.url), environment }
}

export const contenders: readonly Contender[] = [
  peer('bare', 'bare node:http (no checks, no store)', 'none'),
  { ...peer('ours-sqlite', 'plant-store, SQLite', 'sqlite'), isOurs: true, module: service },
  peer('fastify-batching', 'Fastify, group commit, SQLite', 'sqlite', { BATCHING: 'true' }),
  peer('fastify-sqlite', 'Fastify, SQLite, one synchronous insert per request', 'sqlite'),
  peer('express-sqlite', 'Express + zod, SQLite', 'sqlite'),
  { ...peer('ours-mongodb', 'plant-store, MongoDB', 'mongodb'), isOurs: true, module: service },
  peer('fastify-mongodb', 'Fastify, MongoDB', 'mongodb'),
  peer('express-mongodb', 'Express + zod, MongoDB', 'mongodb'),
  peer('hello', 'Fastify hello world', 'none'),
  { ...peer('url', 'the service at --url', 'none'), isOurs: true }
]

/** @throws {Error} if there is no server of that name */
export function contender (name: string): Contender {
  const found = contenders.find(one => one.name === name)
  if (found === undefined) throw new Error(`no server ${name}`)
  return found
}
