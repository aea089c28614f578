import { join } from 'node:path'
import { groupCommit } from './group-commit.js'
import { insertIntoMongo } from './mongodb.js'
import { openSqliteFile, sqliteThread } from './sqlite.js'

export interface Plant { id: number, name: string, tag?: string | undefined }

export interface PeerStore {
  /** Returns false if the id is taken. */
  insert: (plant: Plant) => boolean | Promise<boolean>
}

/** One write for each request, as in a first version; with `STORE=group commit`, pending requests share a write. */
export async function openPeerStore (): Promise<PeerStore> {
  const { MONGODB_URL, DATA_DIR = '', STORE } = process.env
  const path = join(DATA_DIR, 'plants.db')
  if (STORE === 'none') return { insert: () => true }
  if (MONGODB_URL !== undefined) {
    const { insertOne, insertMany } = await insertIntoMongo(MONGODB_URL)
    // The service, too, has up to 16 batches in flight.
    return STORE === 'group commit' ? groupCommit(insertMany, 16) : { insert: insertOne }
  }
  if (STORE === 'group commit') return groupCommit(sqliteThread(path), 1)
  const database = await openSqliteFile(path)
  const insert = database.prepare('INSERT INTO plants(id, name, tag) VALUES(?, ?, ?) ON CONFLICT(id) DO NOTHING')
  return { insert: ({ id, name, tag }) => insert.run(id, name, tag ?? null).changes === 1 }
}
