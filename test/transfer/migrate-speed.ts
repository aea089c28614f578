/**
 * Compares `migrate` with a bare loop of unordered insertMany on the same MongoDB, and measures its memory:
 *
 *   npm run compile && MONGODB_URL=… node build/test/transfer/migrate-speed.js [plants] [rounds]
 *
 * The defaults are 200,000 and 3. The loop is timed from its first plant to its last, migrate as a process including
 * its startup. Both use their own databases, which are dropped.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Long } from 'mongodb'
import { median } from '../../bench/statistics.js'
import { OwnDatabase } from '../support/stores/own-database.js'
import { measuredRun, type MeasuredRun } from './measured-run.js'
import { fillMany } from './plants.js'

const url = process.env['MONGODB_URL'] ?? ''
if (url === '') throw new Error('MONGODB_URL is not set: it names the server to measure on')
const plants = Number(process.argv[2] ?? 200_000)
const rounds = Number(process.argv[3] ?? 3)
const folder = mkdtempSync(join(tmpdir(), 'plant-store-migrate-'))

fillMany(folder, plants)

/** Inserts batches of 1,000, one after the other, with the write concern of migrate. */
async function bareLoop ({ client }: OwnDatabase): Promise<number> {
  const collection = client.db().collection<{ _id: Long, name: string, tag: string }>('plants', { writeConcern: { w: 'majority', journal: true } })
  const start = performance.now()
  for (let id = 0; id < plants; id += 1_000) {
    const count = Math.min(1_000, plants - id)
    await collection.insertMany(Array.from({ length: count }, (_, i) => (
      { _id: Long.fromNumber(id + i), name: `Monstera deliciosa ${id + i}`, tag: 'Araceae' }
    )), { ordered: false })
  }
  return performance.now() - start
}

async function migrate ({ url }: OwnDatabase): Promise<MeasuredRun> {
  const run = await measuredRun(['migrate', '--quiet'], { DATA_DIR: folder, MONGODB_URL: url })
  if (!run.stdout.startsWith(`copied ${plants},`)) throw new Error(run.stdout)
  return run
}

const ratios: number[] = []
try {
  for (let round = 0; round < rounds; round++) {
    const databases = [new OwnDatabase(url), new OwnDatabase(url)] as const
    const loop = await bareLoop(databases[0])
    const { ms: copy, megabytes } = await migrate(databases[1])
    for (const database of databases) await database.drop()
    ratios.push(loop / copy)
    const rate = (ms: number): string => `${Math.round(plants / ms * 1_000).toLocaleString('en')} a second`
    console.log(`bare loop ${rate(loop)}, migrate ${rate(copy)}, ratio ${(loop / copy).toFixed(2)}; resident MB in fifths ${megabytes.join(', ')}`)
  }
  console.log(`ratio ${median(ratios).toFixed(2)}, median of ${rounds}`)
} finally {
  rmSync(folder, { recursive: true })
}
