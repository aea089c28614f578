import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface Contender {
  name: string
  label: string
  store: 'none' | 'sqlite' | 'mongodb'
  /** Whether it is plant-store, so that its error codes are checked; of a peer, only the statuses are. */
  isOurs: boolean
  module: URL
  node: string
  environment: Record<string, string>
}

function server (name: string, label: string, isOurs: boolean, path: string): Contender {
  let store: Contender['store'] = 'none'
  if (name.endsWith('-sqlite')) store = 'sqlite'
  if (name.endsWith('-mongodb')) store = 'mongodb'
  const module = new URL(`../../${path}`, import.meta.url)
  const environment = { NODE_ENV: 'production', HOST: '127.0.0.1', PORT: '0' }
  return { name, label, store, isOurs, module, node: process.execPath, environment }
}

const ours = (name: string, label: string): Contender => server(name, label, true, 'src/service/main.js')

/** @param more variables that bench/servers/main.ts reads */
function peer (name: string, label: string, more: Record<string, string>): Contender {
  const common = server(name, label, false, 'bench/servers/main.js')
  return { ...common, environment: { ...common.environment, ...more } }
}

const fastify = { SERVER: 'fastify' }
const express = { SERVER: 'express' }
const noStore = { ...fastify, STORE: 'none' }
const groupCommit = { ...fastify, STORE: 'group commit' }

export const contenders: readonly Contender[] = [
  peer('bare', 'bare node:http, no checks, no store', { SERVER: 'bare' }),
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
  server('plugin', "plant-store's plugin, no store", true, 'src/index.js'),
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

function difference ({ name, label, isOurs, environment }: Contender, part: string): Partial<Contender> {
  const [, variable, value = ''] = /^([A-Z0-9_]+)=(.*)$/.exec(part) ?? []
  if (variable !== undefined) {
    return { label: `${label}, ${part}`, environment: { ...environment, [variable]: value } }
  }
  const path = resolve(part)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    const file = resolve(path, name.startsWith('plugin') ? 'dist/index.js' : 'dist/service/main.js')
    if (isOurs && existsSync(file)) return { label: `${label}, ${basename(path)}`, module: pathToFileURL(file) }
    throw new TypeError(`${part} is not a build of plant-store: name a checkout after npm run build there`)
  }
  const { stdout, status } = spawnSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' })
  if (status !== 0) throw new TypeError(`${part} is not a program of Node.js, nor a folder, nor NAME=VALUE`)
  return { label: `${label}, Node ${stdout.trim()}`, node: path }
}
