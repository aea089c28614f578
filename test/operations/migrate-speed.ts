/**
 * How fast `migrate` is beside a bare loop of unordered insertMany on the same MongoDB, and how much memory it takes:
 *
 *   npm run compile && MONGODB_URL=… node build/test/operations/migrate-speed.js [plants] [rounds]     200,000 and 3 by default
 *
 * Both are timed from their first plant to their last; migrate's look at all ids comes after, and is told apart. It uses
 * databases of its own, and drops them.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Long, MongoClient } from 'mongodb'
import { median } from '../../bench/statistics.js'
import { SqlitePlantsTable } from '../../src/stores/sqlite-plants-table.js'
import { program } from '../project.js'

const { MONGODB_URL } = process.env
if (MONGODB_URL === undefined) throw new Error('MONGODB_URL is not set: it names the server to measure on')
const plants = Number(process.argv[2] ?? 200_000)
const rounds = Number(process.argv[3] ?? 3)
const folder = mkdtempSync(join(tmpdir(), 'plant-store-migrate-'))
const client = await new MongoClient(MONGODB_URL).connect()

const table = await SqlitePlantsTable.open(join(folder, 'plants.db'))
for (let id = 0; id < plants; id += 10_000) {
  const count = Math.min(10_000, plants - id)
  table.write({
    ids: BigInt64Array.from({ length: count }, (_, i) => BigInt(id + i)),
    names: Array.from({ length: count }, (_, i) => `Monstera deliciosa ${id + i}`),
    tags: new Array<string>(count).fill('Araceae')
  })
}
table.close()

/** Batches of 1,000, one after the other, acknowledged as migrate's are. */
async function bareLoop (database: string): Promise<number> {
  const collection = client.db(database).collection<{ _id: Long, name: string, tag: string }>('plants', { writeConcern: { w: 'majority', journal: true } })
  const start = performance.now()
  for (let id = 0; id < plants; id += 1_000) {
    const count = Math.min(1_000, plants - id)
    await collection.insertMany(Array.from({ length: count }, (_, i) => (
      { _id: Long.fromNumber(id + i), name: `Monstera deliciosa ${id + i}`, tag: 'Araceae' }
    )), { ordered: false })
  }
  return performance.now() - start
}

/** Milliseconds of the copying and of the look at all ids, and the most resident memory, in MB, in each fifth of the run. */
async function migrate (database: string): Promise<{ copy: number, check: number, megabytes: number[] }> {
  const child = spawn(process.execPath, [program, 'migrate'], {
    env: { PATH: process.env.PATH, DATA_DIR: folder, MONGODB_URL: (MONGODB_URL as string).replace(/^(\w+:\/\/[^/?]+)\/?[^?]*/, `$1/${database}`) }, stdio: ['ignore', 'pipe', 'pipe']
  })
  let first = 0
  let checks = 0
  let told = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text
    if (first === 0 && told.includes('plants\n')) first = performance.now()
    if (checks === 0 && told.includes(`copy: ${plants.toLocaleString('en')} of`)) checks = performance.now()
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => { told += text })
  const resident: number[] = []
  const sampling = setInterval(() => {
    try {
      resident.push(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1_024)
    } catch { /* it has ended */ }
  }, 50)
  const [code] = await once(child, 'close')
  clearInterval(sampling)
  const end = performance.now()
  if (code !== 0 || !told.includes(`all ${plants} ids are there`)) throw new Error(told)
  const fifth = Math.ceil(resident.length / 5)
  const megabytes = [0, 1, 2, 3, 4].map(i => Math.round(Math.max(...resident.slice(i * fifth, (i + 1) * fifth))))
  return { copy: (checks || end) - first, check: end - (checks || end), megabytes }
}

const ratios: number[] = []
try {
  for (let round = 0; round < rounds; round++) {
    const names = [`plant_store_loop_${process.pid}_${round}`, `plant_store_migrate_${process.pid}_${round}`] as const
    const loop = await bareLoop(names[0])
    const { copy, check, megabytes } = await migrate(names[1])
    // The scripted MongoDB knows no such command.
    for (const name of names) await client.db(name).dropDatabase().catch(() => {})
    ratios.push(loop / copy)
    const rate = (ms: number): string => `${Math.round(plants / ms * 1_000).toLocaleString('en')} a second`
    console.log(`bare loop ${rate(loop)}, migrate ${rate(copy)}, ratio ${(loop / copy).toFixed(2)}; look at all ids ${(check / 1_000).toFixed(1)} s; resident MB in fifths ${megabytes.join(', ')}`)
  }
  console.log(`ratio ${median(ratios).toFixed(2)}, median of ${rounds}`)
} finally {
  await client.close()
  rmSync(folder, { recursive: true })
}
