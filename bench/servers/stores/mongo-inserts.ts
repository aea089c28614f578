import { MongoBulkWriteError, MongoClient, MongoServerError } from 'mongodb'
import type { Insert, InsertMany, Plant } from './group-commit.js'

const DUPLICATE_KEY = 11000

/** Inserts as durable as the service's own writes. */
export async function insertIntoMongo (url: string): Promise<{ insert: Insert, insertMany: InsertMany }> {
  const client = await new MongoClient(url, { ignoreUndefined: true }).connect()
  const options = { writeConcern: { w: 'majority', journal: true } } as const
  const plants = client.db().collection<Omit<Plant, 'id'> & { _id: number }>('plants', options)
  const documentOf = ({ id, name, tag }: Plant) => ({ _id: id, name, tag })
  return {
    async insert (plant) {
      try {
        await plants.insertOne(documentOf(plant))
        return true
      } catch (error) {
        if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return false
        throw error
      }
    },
    async insertMany (batch) {
      try {
        await plants.insertMany(batch.map(documentOf), { ordered: false })
        return batch.map(() => true)
      } catch (error) {
        const failed = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : []
        if (failed.length === 0 || failed.some(({ code }) => code !== DUPLICATE_KEY)) throw error
        return batch.map((_, place) => failed.every(({ index }) => index !== place))
      }
    }
  }
}
