import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
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
  words: string[]
  node: string
  environment: Record<string, string>
  /** What of its name chooses the Node and variables of its process: `@NODE@NAME=VALUE`, or nothing. */
  runtime: string
}

type Peer = 'bare' | 'fastify' | 'express'

function server (name: string, label: string): Omit<Contender, 'isOurs' | 'module' | 'words'> {
  let store: Contender['store'] = 'none'
  if (name.endsWith('-sqlite')) store = 'sqlite'
  if (name.endsWith('-mongodb')) store = 'mongodb'
  const environment = { NODE_ENV: 'production', HOST: '127.0.0.1', PORT: '0' }
  return { name, label, store, checks: 'token', node: process.execPath, environment, runtime: '' }
}

function peer (peer: Peer, name: string, label: string, more: Record<string, string> = {}): Contender {
  const common = server(name, label)
  const module = new URL('../servers/main.js', import.meta.url)
  return { ...common, isOurs: false, module, words: [peer], environment: { ...common.environment, ...more } }
}

/** @param module of the compiled `src` */
function ours (name: string, label: string, module = 'commands/main.js'): Contender {
  return { ...server(name, label), isOurs: true, module: new URL(`../../src/${module}`, import.meta.url), words: [] }
}

export const contenders: readonly Contender[] = [
  { ...peer('bare', 'bare', 'bare node:http, no checks, no store'), checks: 'nothing' },
  { ...peer('fastify', 'fastify', 'Fastify + TypeBox, no store', { STORE: 'none', TOKEN: 'none' }), checks: 'body' },
  peer('fastify', 'fastify-token', 'Fastify + TypeBox + token, no store', { STORE: 'none' }),
  ours('ours-sqlite', 'plant-store, SQLite'),
  peer('fastify', 'group-sqlite', 'Fastify, SQLite, group commit', { STORE: 'group commit' }),
  peer('fastify', 'fastify-sqlite', 'Fastify, SQLite, insert per request'),
  peer('express', 'express-sqlite', 'Express + zod, SQLite'),
  ours('ours-mongodb', 'plant-store, MongoDB'),
  peer('fastify', 'group-mongodb', 'Fastify, MongoDB, group commit', { STORE: 'group commit' }),
  peer('fastify', 'fastify-mongodb', 'Fastify, MongoDB, insert per request'),
  peer('express', 'express-mongodb', 'Express + zod, MongoDB'),
  ours('plugin', "plant-store's plugin, no store", 'index.js'),
  ours('url', 'the service at --url')
]

/** @param name of a server; what follows an `@` is ignored */
export function contender (name: string): Contender {
  const found = contenders.find(one => one.name === name.replace(/@.*/, ''))
  if (found === undefined) throw new TypeError(`no server ${name}`)
  return found
}

/**
 * @param name of a server, with what differs after each `@`: a variable of its environment, another build (the folder
 *   of its checkout, or its `main.js`), or the program of another Node
 * @throws {TypeError} if there is no such server, build or Node
 */
export function variant (name: string): Contender {
  const [, ...parts] = name.split('@')
  let found: Contender = { ...contender(name), name }
  for (const part of parts) found = { ...found, ...difference(found, part) }
  return found
}

function difference (found: Contender, part: string): Partial<Contender> {
  const { name, label, isOurs, environment } = found
  const runtime = `${found.runtime}@${part}`
  const [, variable, value = ''] = /^([A-Z0-9_]+)=(.*)$/.exec(part) ?? []
  if (variable !== undefined) {
    return { label: `${label}, ${part}`, environment: { ...environment, [variable]: value }, runtime }
  }
  const path = resolve(part)
  if (part.endsWith('.js') || statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    const file = isOurs ? moduleIn(path, name) : undefined
    if (file === undefined) {
      throw new TypeError(`${part} is not a build of plant-store: name a checkout after npm run build there`)
    }
    const checkout = path.replace(/\/(build|dist)(\/.*)?$/, '')
    return { label: `${label}, ${basename(checkout)}`, module: pathToFileURL(file) }
  }
  const version = nodeVersion(path)
  if (version === undefined) {
    throw new TypeError(`${part} is not a program of Node.js, nor a folder, nor NAME=VALUE`)
  }
  return { label: `${label}, Node ${version}`, node: path, runtime }
}

/**
 * The program of a build or, for the plugin, the module that exports it.
 * @param path of a checkout, or of the program in it
 */
function moduleIn (path: string, name: string): string | undefined {
  const program = path.endsWith('.js') ? path : resolve(path, 'dist/commands/main.js')
  const module = name.startsWith('plugin') ? resolve(dirname(program), '../index.js') : program
  return existsSync(module) ? module : undefined
}

/** @returns undefined if the file is not a program of Node */
function nodeVersion (file: string): string | undefined {
  if (file === process.execPath) return process.versions.node
  const { stdout, status } = spawnSync(file, ['-p', 'process.versions.node'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
