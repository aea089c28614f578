import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { lost, overHttp, PlantClients, refusedAndStored } from '../support/http/plant-clients.js'
import { Program, token } from '../support/process/program.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { OwnDatabase } from '../support/stores/own-database.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'

/** The totals of all kills; those that would violate the contract must be 0. */
export interface Toll {
  kills: number
  acknowledged: number
  /** Plants acknowledged, but not stored with their exact content. */
  lost: number
  /** Plants refused with 503, but stored. */
  refusedAndStored: number
  /** Requests whose connection was cut off; must be 0 for SIGTERM. */
  cut: number
  /** Responses other than 200. */
  otherStatuses: number
  /** Shutdowns that took 10 s or more, or had an exit code other than 0. */
  badShutdowns: number
  longestShutdownMs: number
}

interface KillOptions {
  signal: 'SIGKILL' | 'SIGTERM'
  kills: number
  connections?: number
  log?: (line: string) => void
}

type Stored = () => Promise<ReadonlyMap<bigint, { name?: unknown }>>
interface Place { env: Record<string, string>, stored: Stored, close: () => Promise<void> }

/** An SQLite database in a new folder. */
export function sqliteFolder (): Place {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-kills-'))
  return {
    env: { DATA_DIR: folder },
    stored: async () => plantsInFile(join(folder, 'plants.db')),
    close: async () => { rmSync(folder, { recursive: true }) }
  }
}

/** A new database in the MongoDB at MONGODB_URL, or in a scripted one. */
export async function mongodb (): Promise<Place> {
  const { MONGODB_URL } = process.env
  if (MONGODB_URL === undefined) {
    const mongo = await ScriptedMongo.start(undefined)
    return {
      env: { MONGODB_URL: mongo.url },
      stored: async () => mongo.majority(),
      close: async () => await mongo.close()
    }
  }
  const database = new OwnDatabase(MONGODB_URL)
  return { env: { MONGODB_URL: database.url }, stored: () => database.plants(), close: () => database.drop() }
}

/**
 * Starts the service on the same data repeatedly, and stops it with a signal at a random time under full load.
 * @param options.connections the number of clients, which send requests without a pause
 */
export async function killUnderLoad (
  place: Place, { signal, kills, connections = 32, log = () => {} }: KillOptions
): Promise<Toll> {
  const toll: Toll = {
    kills: 0,
    acknowledged: 0,
    lost: 0,
    refusedAndStored: 0,
    cut: 0,
    otherStatuses: 0,
    badShutdowns: 0,
    longestShutdownMs: 0
  }
  let nextId = 1
  for (; toll.kills < kills; toll.kills++) {
    const service = new Program([], { PORT: '0', ACCESS_TOKENS: token, ...place.env })
    const clients = new PlantClients(overHttp(await service.ready(), token), nextId)
    const load = clients.load({ connections, untilCut: true, ms: 30_000 })
    await sleep(50 + Math.random() * 450)
    const began = performance.now()
    const { code } = await service.end(signal)
    const took = performance.now() - began
    await load

    if (signal === 'SIGTERM') {
      toll.longestShutdownMs = Math.max(toll.longestShutdownMs, took)
      if (took >= 10_000 || code !== 0) toll.badShutdowns++
      toll.cut += clients.sent.filter(({ fault }) => fault === 'cut').length
      toll.otherStatuses += clients.sent.filter(({ status }) => status !== 200 && status !== 0).length
    }
    const stored = await place.stored()
    toll.acknowledged += clients.acknowledged.length
    toll.lost += lost(clients.sent, stored).length
    toll.refusedAndStored += refusedAndStored(clients.sent, stored).length
    nextId += clients.sent.length + connections
    log(`${toll.kills + 1} of ${kills}: ${JSON.stringify(clients.counts)}, exited after ${took.toFixed()} ms with ${code ?? signal}`)
  }
  return toll
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      sqlite: { type: 'string', default: '100' },
      mongodb: { type: 'string', default: '20' },
      sigterm: { type: 'string', default: '20' },
      workers: { type: 'string', default: '1' },
      quiet: { type: 'boolean', default: false }
    }
  })
  const log = values.quiet ? () => {} : console.log
  let failed = false
  const run = async (title: string, place: Place, options: KillOptions) => {
    place.env['WORKERS'] = values.workers
    const toll = await killUnderLoad(place, { ...options, log })
    await place.close()
    console.log(title, toll)
    if (toll.lost + toll.refusedAndStored + toll.badShutdowns > 0) failed = true
    if (options.signal === 'SIGTERM' && toll.cut + toll.otherStatuses > 0) failed = true
  }
  const [sqlite, mongo, sigterm] = [values.sqlite, values.mongodb, values.sigterm].map(Number) as [
    number,
    number,
    number
  ]
  if (sqlite > 0) await run('SIGKILL under load, SQLite:', sqliteFolder(), { signal: 'SIGKILL', kills: sqlite })
  if (mongo > 0) await run('SIGKILL under load, MongoDB:', await mongodb(), { signal: 'SIGKILL', kills: mongo })
  if (sigterm > 0) await run('SIGTERM under load, SQLite:', sqliteFolder(), { signal: 'SIGTERM', kills: sigterm })
  process.exit(failed ? 1 : 0)
}
