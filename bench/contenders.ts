import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface Contender {
  name: string
  label: string
  store: 'none' | 'sqlite' | 'mongodb'
  /** What it checks of a request; `token` includes the body. */
  checks: 'nothing' | 'body' | 'token'
  /** Whether it is plant-store, so that its error codes are checked; of a peer, only the statuses are. */
  isOurs: boolean
  module: URL
  node: string
  environment: Record<string, string>
}

/** @param module in the folder `servers` */
function peer (module: string, name: string, label: string, more: Record<string, string> = {}): Contender {
  return {
    name,
    label,
    store: name.endsWith('-sqlite') ? 'sqlite' : name.endsWith('-mongodb') ? 'mongodb' : 'none',
    checks: 'token',
    isOurs: false,
    module: new URL(`servers/${module}.js`, import.meta.url),
    node: process.execPath,
    environment: { NODE_ENV: 'production', HOST: '127.0.0.1', PORT: '0', ...more }
  }
}

function service (name: string, label: string): Contender {
  return { ...peer('', name, label), isOurs: true, module: new URL('../dist/commands/main.js', import.meta.url) }
}

export const contenders: readonly Contender[] = [
  { ...peer('bare', 'bare', 'bare node:http, no checks, no store'), checks: 'nothing' },
  { ...peer('fastify', 'fastify', 'Fastify + TypeBox, no store', { STORE: 'none', TOKEN: 'none' }), checks: 'body' },
  peer('fastify', 'fastify-token', 'Fastify + TypeBox + token, no store', { STORE: 'none' }),
  service('ours-sqlite', 'plant-store, SQLite'),
  peer('fastify', 'group-sqlite', 'Fastify, SQLite, group commit', { STORE: 'group commit' }),
  peer('fastify', 'fastify-sqlite', 'Fastify, SQLite, insert per request'),
  peer('express', 'express-sqlite', 'Express + zod, SQLite'),
  service('ours-mongodb', 'plant-store, MongoDB'),
  peer('fastify', 'group-mongodb', 'Fastify, MongoDB, group commit', { STORE: 'group commit' }),
  peer('fastify', 'fastify-mongodb', 'Fastify, MongoDB, insert per request'),
  peer('express', 'express-mongodb', 'Express + zod, MongoDB'),
  service('url', 'the service at --url')
]

/** @param name of a server; what follows an `@` is ignored */
export function contender (name: string): Contender {
  const found = contenders.find(one => one.name === name.replace(/@.*/, ''))
  if (found === undefined) throw new TypeError(`no server ${name}`)
  return found
}

/**
 * @param name of a server, with what differs after each `@`: a variable of its environment, the path of another build's
 *   program (`main.js`), or that of another Node
 * @throws {TypeError} if there is no such server, program or Node
 */
export function variant (name: string): Contender {
  const [, ...parts] = name.split('@')
  return parts.reduce((found, part) => ({ ...found, name, ...differences(found, part) }), contender(name))
}

function differences ({ label, isOurs, environment }: Contender, part: string): Partial<Contender> {
  const [, variable, value] = /^([A-Z0-9_]+)=(.*)$/.exec(part) ?? []
  if (variable !== undefined) return { label: `${label}, ${part}`, environment: { ...environment, [variable]: `${value}` } }
  const file = resolve(part)
  if (part.endsWith('.js')) {
    if (!isOurs || !existsSync(file)) throw new TypeError(`${part} is not a build of plant-store`)
    return { label: `${label}, ${basename(file.replace(/\/(build|dist)\/.*/, ''))}`, module: pathToFileURL(file) }
  }
  const { stdout, status } = spawnSync(file, ['-p', 'process.versions.node'], { encoding: 'utf8' })
  if (status !== 0) throw new TypeError(`${part} is not a program of Node.js`)
  return { label: `${label}, Node ${stdout.trim()}`, node: file }
}
