import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Contender } from './contenders.js'
import { mongoTarget } from './mongo-target.js'
import type { MongoTarget } from './mongo-target.js'
import { openDatabase } from './sqlite-binding.js'
import { startProcess } from './start-process.js'
import type { Started } from './start-process.js'

export interface ServerPlace {
  token: string
  /** Everything the server writes goes below it. */
  folder: string
  /** A database file prepared beforehand (a growing store), instead of a fresh one. */
  databaseFile?: string | undefined
  mongodb?: string | undefined
  distance?: number | undefined
  environment?: Record<string, string>
  pin?: string | undefined
}

export interface RunningServer {
  url: string
  pid: number
  measuredDistance: number | undefined
  /** Stops the server, and says how many plants its store then holds. */
  stopAndCount: () => Promise<number | undefined>
  stop: () => Promise<void>
}

/** The server in a process of its own, with a store of its own. */
export async function runServer (contender: Contender, place: ServerPlace): Promise<RunningServer> {
  mkdirSync(place.folder, { recursive: true })
  const folder = mkdtempSync(join(place.folder, `${contender.name}-`))
  let mongo: MongoTarget | undefined
  let server: Started | undefined
  const stop = async (): Promise<void> => {
    await server?.stop()
    await mongo?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    if (contender.store === 'mongodb') mongo = await mongoTarget(place.mongodb, folder, place.distance)
    const databaseFile = place.databaseFile ?? join(folder, 'plants.db')
    server = await startProcess({
      arguments: contender.command.arguments,
      environment: {
        ...contender.command.environment,
        ACCESS_TOKENS: place.token,
        ...(mongo === undefined ? { DATA_DIR: dirname(databaseFile) } : { MONGODB_URL: mongo.url }),
        ...(contender.isOurs ? place.environment : {})
      },
      pin: place.pin
    }, join(folder, 'server.log'))
    const { pid, address } = server
    return {
      url: address,
      pid,
      measuredDistance: place.distance === undefined ? undefined : await mongo?.measuredDistance(),
      async stopAndCount () {
        await server?.stop()
        return contender.store === 'sqlite' ? countRows(databaseFile) : await mongo?.count()
      },
      stop
    }
  } catch (error) {
    await stop()
    throw error
  }
}

export function countRows (databaseFile: string): number {
  const database = openDatabase(databaseFile)
  try {
    return Number(database.prepare('SELECT count(*) AS count FROM plants').get()?.count)
  } finally {
    database.close()
  }
}
