import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { jsonServerApi, plantApi, pocketBaseApi, type Api } from './apis.js'

export interface Contender {
  name: string
  label: string
  store: 'none' | 'sqlite' | 'mongodb' | 'pocketbase' | 'json-server'
  /** Whether it is plant-store, so that its error codes are checked; of a peer, only the statuses are. */
  isOurs: boolean
  api: Api
  /** The program that Node runs. That of PocketBase is given by an option. */
  module: URL
  /** Of plant-store: what `import 'plant-store'` loads. */
  library: URL
  node: string
  environment: Record<string, string>
}

/** What responds before the plants are synced to disk, so that a power cut may lose them. */
const unsynced: ReadonlyArray<Contender['store']> = ['pocketbase', 'json-server']

export type Durability = 'synced' | 'not synced' | 'no store'

export function durabilityOf ({ store }: Contender): Durability {
  if (store === 'none') return 'no store'
  return unsynced.includes(store) ? 'not synced' : 'synced'
}

function server (name: string, label: string, isOurs: boolean, path: string): Contender {
  let store: Contender['store'] = 'none'
  if (name.endsWith('-sqlite')) store = 'sqlite'
  if (name.endsWith('-mongodb')) store = 'mongodb'
  const module = new URL(`../../${path}`, import.meta.url)
  const library = new URL('../../src/index.js', import.meta.url)
  const environment = { NODE_ENV: 'production', HOST: '127.0.0.1', PORT: '0' }
  return { name, label, store, isOurs, api: plantApi, module, library, node: process.execPath, environment }
}

const ours = (name: string, label: string): Contender => server(name, label, true, 'src/service/main.js')

/** @param more variables that bench/servers/main.ts reads */
function peer (name: string, label: string, more: Record<string, string> = { SERVER: name }): Contender {
  const common = server(name, label, false, 'bench/servers/main.js')
  return { ...common, environment: { ...common.environment, ...more } }
}

const fastify = { SERVER: 'fastify' }
const express = { SERVER: 'express' }
const noStore = { ...fastify, STORE: 'none' }
const groupCommit = { ...fastify, STORE: 'group commit' }

export const contenders: readonly Contender[] = [
  peer('bare', 'bare node:http, no checks, no store'),
  peer('fastify', 'Fastify + TypeBox, no store', { ...noStore, TOKEN: 'none' }),
  peer('fastify-token', 'Fastify + TypeBox + token, no store', noStore),
  ours('ours-sqlite', 'plant-store, SQLite'),
  peer('group-sqlite', 'Fastify, SQLite, group commit', groupCommit),
  peer('fastify-sqlite', 'Fastify, SQLite, insert per request', fastify),
  peer('express-sqlite', 'Express + zod, SQLite', express),
  ours('ours-mongodb', 'plant-store, MongoDB'),
  peer('group-mongodb', 'Fastify, MongoDB, group commit', groupCommit),
  peer('fastify-mongodb', 'Fastify, MongoDB, insert per request', fastify),
  peer('express-mongodb', 'Express + zod, MongoDB', express),
  { ...peer('pocketbase', 'PocketBase, WAL, synchronous=NORMAL'), store: 'pocketbase', api: pocketBaseApi },
  { ...peer('json-server', 'json-server, whole file, not synced'), store: 'json-server', api: jsonServerApi },
  ours('plugin', "plant-store's plugin, no store"),
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
 *   of its checkout), or the program of another Node
 * @throws {TypeError} if there is no such server, build or Node
 */
export function variant (name: string): Contender {
  const [, ...parts] = name.split('@')
  let found: Contender = { ...contender(name), name }
  for (const part of parts) found = { ...found, ...difference(found, part) }
  return found
}

function difference ({ label, isOurs, environment }: Contender, part: string): Partial<Contender> {
  const [, variable, value = ''] = /^([A-Z0-9_]+)=(.*)$/.exec(part) ?? []
  if (variable !== undefined) {
    return { label: `${label}, ${part}`, environment: { ...environment, [variable]: value } }
  }
  const path = resolve(part)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    const build = isOurs ? buildIn(path) : undefined
    if (build !== undefined) return { label: `${label}, ${basename(path)}`, ...build }
    throw new TypeError(`${part} is not a build of plant-store: name a checkout after npm run build there`)
  }
  const version = nodeVersion(path)
  if (version === undefined) throw new TypeError(`${part} is not a program of Node.js, nor a folder, nor NAME=VALUE`)
  return { label: `${label}, Node ${version}`, node: path }
}

/** The version of a program of Node; undefined if it is none. */
export function nodeVersion (path: string): string | undefined {
  const { stdout, status } = spawnSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/** @throws {TypeError} if the program is not PocketBase */
export function pocketBaseVersion (path: string): string {
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' })
  const version = /^\S+ version (\S+)$/m.exec(stdout ?? '')?.[1]
  if (version === undefined) throw new TypeError(`--pocketbase ${path} is not a program of PocketBase`)
  return version
}

/** The service and the library of a checkout that is built; undefined if it is none. */
function buildIn (folder: string): Pick<Contender, 'module' | 'library'> | undefined {
  try {
    const { bin, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const [program, library] = [bin['plant-store'], exports['.'].default].map(file => join(folder, file))
    if (program === undefined || library === undefined || ![program, library].every(existsSync)) return undefined
    return { module: pathToFileURL(program), library: pathToFileURL(library) }
  } catch {
    return undefined
  }
}
