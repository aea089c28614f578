import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openMongoDatabase } from '../mongodb/mongo-database.js'
import type { Spec } from '../plan/cases.js'
import type { Contender } from '../plan/contenders.js'
import { migration } from '../servers/pocketbase.js'
import { countSqlite, fillSqlite, FIRST_FILLED, openSqlite } from '../servers/stores/sqlite.js'
import { closedPort } from '../../test/support/process/lasting-port.js'
import type { RunSettings } from './measured-server.js'
import { runToEnd } from './start-process.js'

/** Where a server keeps its plants: made and filled before it starts, counted after it has stopped. */
export interface ServerStore {
  environment?: Record<string, string>
  /** What serves it, if that is not a module of Node; with the words of its command, and the token that it has made. */
  program?: string
  words?: string[]
  token?: string
  fill: (count: number) => Promise<void>
  /** The number of plants in it; undefined if they cannot be counted. */
  count: () => Promise<number | undefined>
  stop?: () => Promise<void>
}

export async function openServerStore (
  { store }: Contender, { distance }: Spec, { mongodb, pocketbase = '' }: RunSettings, folder: string
): Promise<ServerStore> {
  switch (store) {
    case 'none': return { fill: async () => {}, count: async () => undefined }
    case 'sqlite': return sqliteFile(join(folder, 'plants.db'))
    case 'mongodb': return await openMongoDatabase(mongodb, folder, distance)
    case 'json-server': return jsonFile(join(folder, 'db.json'))
    case 'pocketbase': return await pocketBase(pocketbase, folder)
  }
}

function sqliteFile (path: string): ServerStore {
  return {
    async fill (count) {
      const { database } = await openSqlite(path)
      database.close()
      await fillSqlite(path, count)
    },
    count: async () => await countSqlite(path)
  }
}

function jsonFile (path: string): ServerStore {
  const write = (plants: object[]): void => writeFileSync(path, JSON.stringify({ plants }))
  write([])
  return {
    async fill (count) {
      write(Array.from({ length: count }, (_, n) =>
        ({ id: FIRST_FILLED + n, name: 'Monstera deliciosa', tag: 'Araceae' })))
    },
    count: async () => JSON.parse(readFileSync(path, 'utf8')).plants.length
  }
}

async function pocketBase (program: string, folder: string): Promise<ServerStore> {
  const migrations = join(folder, 'pb_migrations')
  mkdirSync(migrations)
  writeFileSync(join(migrations, '1_plants.js'), migration)
  const data = join(folder, 'pb_data')
  const common = [`--dir=${data}`, `--migrationsDir=${migrations}`, '--automigrate=false', '--dev=false']
  const output = await runToEnd(program, { words: ['migrate', 'up', ...common], logFile: join(folder, 'migrate.log') })
  const path = join(data, 'data.db')
  return {
    program,
    token: /token=(\S+)/.exec(output)?.[1] ?? '',
    words: ['serve', `--http=127.0.0.1:${await closedPort()}`, ...common],
    fill: async count => await fillSqlite(path, count),
    count: async () => await countSqlite(path)
  }
}
