import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { createTable, openDatabase } from '../sqlite-binding.js'

export interface Plant { id: number, name: string, tag?: string | undefined }
export interface PeerStore {
  /** Says false where the id is taken. A promise only where the store's own call is one. */
  insert: (plant: Plant) => boolean | Promise<boolean>
  close: () => unknown
}

/** What the obvious server does with its store: one write for each request. */
export async function openPeerStore (): Promise<PeerStore> {
  const { MONGODB_URL, DATA_DIR } = process.env
  if (MONGODB_URL !== undefined) return await openMongo(MONGODB_URL)
  if (DATA_DIR !== undefined) return openSqlite(join(DATA_DIR, 'plants.db'))
  throw new Error('MONGODB_URL or DATA_DIR must be set')
}

async function openMongo (url: string): Promise<PeerStore> {
  const client = await new MongoClient(url).connect()
  const plants = client.db().collection<{ _id: number, name: string, tag?: string }>('plants')
  return {
    async insert ({ id, name, tag }) {
      try {
        await plants.insertOne({ _id: id, name, ...(tag === undefined ? {} : { tag }) })
        return true
      } catch (error) {
        if ((error as { code?: unknown }).code === 11000) return false
        throw error
      }
    },
    close: async () => { await client.close() }
  }
}

function openSqlite (path: string): PeerStore {
  const database = openDatabase(path)
  database.exec('PRAGMA journal_mode=WAL')
  database.exec('PRAGMA synchronous=FULL')
  database.exec(createTable)
  const statement = database.prepare('INSERT INTO plants(id, name, tag) VALUES(?, ?, ?)')
  return {
    insert ({ id, name, tag }) {
      try {
        statement.run(id, name, tag ?? null)
        return true
      } catch (error) {
        if (/UNIQUE/i.test((error as Error).message)) return false
        throw error
      }
    },
    close () { database.close() }
  }
}
