import { join } from 'node:path'
import type { Insert, InsertMany, Plant } from './insert.js'

/** One write for each request, as in a first version; with `STORE=group commit`, pending requests share a write. */
export async function openPeerStore (): Promise<Insert> {
  const { MONGODB_URL, DATA_DIR = '', STORE } = process.env
  if (STORE === 'none') return () => true
  if (MONGODB_URL !== undefined) {
    const { insertIntoMongo } = await import('./mongo-inserts.js')
    const { insert, insertMany } = await insertIntoMongo(MONGODB_URL)
    // The service, too, has up to 16 batches in flight.
    return STORE === 'group commit' ? groupCommit(insertMany, 16) : insert
  }
  const { openSqlite, sqliteThread } = await import('./sqlite.js')
  const path = join(DATA_DIR, 'plants.db')
  return STORE === 'group commit' ? groupCommit(sqliteThread(path), 1) : (await openSqlite(path)).insert
}

interface Pending { plant: Plant, resolve: (isNew: boolean) => void, reject: (error: unknown) => void }

/** Group commit at its simplest: plants that arrive while as many writes are in flight as may be form the next one. */
function groupCommit (insertMany: InsertMany, maxInFlight: number): Insert {
  let pending: Pending[] = []
  let inFlight = 0

  async function flush (): Promise<void> {
    while (inFlight < maxInFlight && pending.length > 0) {
      const batch = pending
      pending = []
      inFlight++
      try {
        const areNew = await insertMany(batch.map(({ plant }) => plant))
        for (const [index, { resolve }] of batch.entries()) resolve(areNew[index] === true)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      inFlight--
    }
  }

  return async plant => await new Promise((resolve, reject) => {
    if (pending.push({ plant, resolve, reject }) === 1) setImmediate(flush)
  })
}
