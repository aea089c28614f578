import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { MongoClient } from 'mongodb'
import { Program, token } from '../program.js'
import { ScriptedMongo } from '../scripted-mongodb/scripted-mongo.js'
import { plantsInFile } from '../sqlite-file.js'
import { Clients, lost, refusedAndStored } from './creating.js'

/** What is left when it is over: of each, 0 is wanted. */
export interface Toll {
  kills: number
  acknowledged: number
  /** Acknowledged, and not there with its exact content. */
  lost: number
  /** Told 503, and there. */
  refusedAndStored: number
  /** Connections that broke under a request, without an answer; a SIGKILL may, a SIGTERM may not. */
  reset: number
  /** Answers other than 200. */
  otherAnswers: number
  /** Ends by SIGTERM that took 5 s or more, or had another exit code than 0. */
  badEnds: number
  longestEnd: number
}

type Stored = () => Promise<ReadonlyMap<bigint, { name?: unknown }>>
interface Place { env: Record<string, string>, stored: Stored, close: () => Promise<void> }

/** An SQLite database in a folder of its own. */
export function sqliteFolder (): Place {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-kills-'))
  return {
    env: { DATA_DIR: folder },
    stored: async () => plantsInFile(join(folder, 'plants.db')),
    close: async () => { rmSync(folder, { recursive: true }) }
  }
}

/** A database in the MongoDB of MONGODB_URL, or else in a scripted one. */
export async function mongodb (): Promise<Place> {
  const { MONGODB_URL } = process.env
  if (MONGODB_URL === undefined) {
    const mongo = await ScriptedMongo.start(undefined, { record: false })
    return { env: { MONGODB_URL: mongo.url }, stored: async () => mongo.majority(), close: async () => await mongo.close() }
  }
  const client = new MongoClient(MONGODB_URL)
  const plants = client.db(client.options.dbName === 'test' ? 'plant_store' : client.options.dbName).collection('plants')
  return {
    env: { MONGODB_URL },
    stored: async () => new Map((await plants.find({}, { useBigInt64: true }).toArray()).map(({ _id, name }) => [BigInt(String(_id)), { name }])),
    close: async () => {
      await plants.deleteMany({})
      await client.close()
    }
  }
}

/**
 * Starts the service on the same data again and again, and ends it by the signal at a random time of full load.
 * @param connections clients that send without pause
 */
export async function killUnderLoad (
  place: Place, { signal, kills, connections = 32, tell = () => {} }: { signal: 'SIGKILL' | 'SIGTERM', kills: number, connections?: number, tell?: (line: string) => void }
): Promise<Toll> {
  const toll: Toll = { kills: 0, acknowledged: 0, lost: 0, refusedAndStored: 0, reset: 0, otherAnswers: 0, badEnds: 0, longestEnd: 0 }
  let nextId = 1
  for (; toll.kills < kills; toll.kills++) {
    const service = new Program([], { PORT: '0', ACCESS_TOKENS: token, ...place.env })
    const address = await service.ready()
    const clients = new Clients(token, nextId)
    const load = clients.load(address, { connections, untilBroken: true, ms: 30_000 })
    await sleep(50 + Math.random() * 450)
    const began = performance.now()
    const { code } = await service.end(signal)
    const took = performance.now() - began
    await load
    clients.close()

    if (signal === 'SIGTERM') {
      toll.longestEnd = Math.max(toll.longestEnd, took)
      if (took >= 5_000 || code !== 0) toll.badEnds++
      toll.reset += clients.told.filter(({ reset }) => reset).length
      toll.otherAnswers += clients.told.filter(({ status }) => status !== 200 && status !== 0).length
    }
    const stored = await place.stored()
    toll.acknowledged += clients.acknowledged.length
    toll.lost += lost(clients.told, stored).length
    toll.refusedAndStored += refusedAndStored(clients.told, stored).length
    nextId += clients.told.length + connections
    tell(`${toll.kills + 1} of ${kills}: ${JSON.stringify(clients.counts)}, ended in ${took.toFixed()} ms with ${code ?? signal}`)
  }
  return toll
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { sqlite: { type: 'string', default: '100' }, mongodb: { type: 'string', default: '20' }, sigterm: { type: 'string', default: '20' }, quiet: { type: 'boolean', default: false } }
  })
  const tell = values.quiet ? () => {} : console.log
  let failed = false
  const run = async (title: string, place: Place, options: Parameters<typeof killUnderLoad>[1]) => {
    const toll = await killUnderLoad(place, { ...options, tell })
    await place.close()
    console.log(title, toll)
    if (toll.lost + toll.refusedAndStored + toll.badEnds > 0 || (options.signal === 'SIGTERM' && toll.reset + toll.otherAnswers > 0)) failed = true
  }
  if (values.sqlite !== '0') await run('SIGKILL under load, SQLite:', sqliteFolder(), { signal: 'SIGKILL', kills: Number(values.sqlite) })
  if (values.mongodb !== '0') await run('SIGKILL under load, MongoDB:', await mongodb(), { signal: 'SIGKILL', kills: Number(values.mongodb) })
  if (values.sigterm !== '0') await run('SIGTERM under load, SQLite:', sqliteFolder(), { signal: 'SIGTERM', kills: Number(values.sigterm) })
  process.exit(failed ? 1 : 0)
}
