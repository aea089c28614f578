import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { groupCommit } from './group-commit.js'
import { openSqliteFile } from './sqlite-file.js'

export interface Plant { id: number, name: string, tag?: string | undefined }

export interface PeerStore {
  /** Returns false if the id is taken. */
  insert: (plant: Plant) => boolean | Promise<boolean>
}

/** One write for each request, as in a first version; with BATCHING, pending requests share a write. */
export async function openPeerStore (): Promise<PeerStore> {
  const { MONGODB_URL, DATA_DIR = '', BATCHING } = process.env
  if (MONGODB_URL !== undefined) return await openMongo(MONGODB_URL)
  const path = join(DATA_DIR, 'plants.db')
  return BATCHING === undefined ? await openSqlite(path) : groupCommit(path)
}

/** As durable as the service's own writes. */
async function openMongo (url: string): Promise<PeerStore> {
  const client = await new MongoClient(url).connect()
  const plants = client.db().collection<{ _id: number, name: string, tag?: string }>('plants', { writeConcern: { w: 'majority', journal: true } })
  return {
    async insert ({ id, name, tag }) {
      try {
        await plants.insertOne({ _id: id, name, ...(tag === undefined ? {} : { tag }) })
        return true
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 11000) return false
        throw error
      }
    }
  }
}

async function openSqlite (path: string): Promise<PeerStore> {
  const database = await openSqliteFile(path)
  const insert = database.prepare('INSERT INTO plants(id, name, tag) VALUES(?, ?, ?) ON CONFLICT(id) DO NOTHING')
  return { insert: ({ id, name, tag }) => insert.run(id, name, tag ?? null).changes === 1 }
}
