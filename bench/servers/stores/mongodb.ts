import { MongoBulkWriteError, MongoClient, MongoServerError } from 'mongodb'
import type { Write } from './group-commit.js'
import type { PeerStore, Plant } from './peer-store.js'

interface PlantDocument { _id: number, name: string, tag?: string }

const DUPLICATE_KEY = 11000

/** Inserts as durable as the service's own writes. */
export async function insertIntoMongo (url: string): Promise<{ insertOne: PeerStore['insert'], insertMany: Write }> {
  const client = await new MongoClient(url).connect()
  const options = { writeConcern: { w: 'majority', journal: true } } as const
  const plants = client.db().collection<PlantDocument>('plants', options)
  const documentOf = ({ id, name, tag }: Plant): PlantDocument =>
    ({ _id: id, name, ...(tag === undefined ? {} : { tag }) })
  return {
    async insertOne (plant) {
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
