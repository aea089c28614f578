import { spawnSync } from 'node:child_process'
import { readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { describeSqlite } from '../servers/stores/sqlite.js'

export async function versions (folder: string): Promise<Record<string, string>> {
  const commit = spawnSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).stdout
  const found: Record<string, string> = { 'plant-store': commit?.trim() || 'unknown', node: process.version.slice(1) }
  for (const name of ['fastify', '@fastify/bearer-auth', 'express', 'zod', 'mongodb']) {
    found[name] = JSON.parse(readFileSync(join('node_modules', name, 'package.json'), 'utf8')).version
  }
  return { ...found, SQLite: (await describeSqlite(join(folder, 'any.db'))).version }
}

export function machine (folder: string): string {
  const isTmpfs = statfsSync(folder).type === 0x01021994
  const size = `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`
  const stores = `stores ${isTmpfs ? 'in memory (tmpfs), not durable' : 'on disk'}`
  return `${cpus()[0]?.model.trim()}, ${size}, ${type()} ${release()}; ${stores}`
}
