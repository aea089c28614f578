/**
 * Migrates while a service keeps writing to the same database, then once more with the service stopped, and compares
 * every plant:
 *
 *   npm run compile && node build/test/transfer/migrate-beside-service.js [plants]     300,000 by default; Linux
 *
 * It migrates to its own database in the MongoDB at MONGODB_URL, which it drops, or else to a scripted MongoDB.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { Program, token } from '../support/process/program.js'
import { projectFile } from '../support/process/project.js'
import { OwnDatabase } from '../support/stores/own-database.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'
import { measuredRun } from './measured-run.js'
import { fillMany } from './plants.js'

const plants = Number(process.argv[2] ?? 300_000)
const folder = mkdtempSync(join(tmpdir(), 'plant-store-migrate-'))
const scripted = spawn(process.execPath, [projectFile('build/test/support/scripted-mongodb/main.js')], { stdio: ['pipe', 'pipe', 'inherit'] })
const [scriptedUrl] = await once(scripted.stdout.setEncoding('utf8'), 'data')
const database = new OwnDatabase(process.env['MONGODB_URL'] ?? String(scriptedUrl).trim())
const { url, client } = database
const service = new Program(['serve'], { DATA_DIR: folder, ACCESS_TOKENS: token, PORT: '0' })

async function migrate (what: string): Promise<void> {
  const { ms, megabytes, stdout } = await measuredRun(['migrate'], { DATA_DIR: folder, MONGODB_URL: url })
  console.log(`${what}: ${stdout.trim()}, in ${(ms / 1_000).toFixed(1)} s, resident MB in fifths ${megabytes.join(', ')}`)
}

try {
  fillMany(folder, plants)
  const clients = new PlantClients(overHttp(await service.ready(), token), 1_000_000_000)
  // Half of the new ids are higher than the existing ones, half are lower.
  const below = new PlantClients(overHttp(await service.ready(), token), -1_000_000_000)
  const stops = [clients.start(4), below.start(4)]
  await migrate('with the service running')
  await Promise.all(stops.map(stop => stop()))
  console.log(`during the migration the service responded ${JSON.stringify(clients.counts)} and ${JSON.stringify(below.counts)}`)
  await service.end('SIGTERM')
  await migrate('again, with the service stopped')

  const stored = plantsInFile(join(folder, 'plants.db'))
  const documents = client.db().collection<{ _id: bigint, name: string, tag?: string }>('plants').find({}, { useBigInt64: true })
  let compared = 0
  for await (const { _id, ...plant } of documents) {
    if (!isDeepStrictEqual(stored.get(BigInt(_id)), plant)) throw new Error(`the plant ${_id} differs`)
    compared++
  }
  if (compared !== stored.size) throw new Error(`MongoDB has ${compared} of ${stored.size} plants`)
  console.log(`${compared.toLocaleString('en')} plants compared: all are identical`)
} finally {
  await service.end('SIGKILL')
  await database.drop()
  scripted.kill()
  rmSync(folder, { recursive: true })
}
