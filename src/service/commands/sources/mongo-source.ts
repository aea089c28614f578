import type { Document } from 'mongodb'
import { connectionTo, databaseOf, loadDriver } from '../../../stores/mongo/mongo-driver.js'
import { faultOf, type DriverError } from '../../../stores/mongo/mongo-errors.js'
import { CopyError, LOWEST_ID, readEntry, type Entry, type PlantSource } from './plant-source.js'

/** Milliseconds from which the driver's timeouts follow: a server is waited for during a fifth of it. */
const READ_TIMEOUT = 35_000
const BATCH_SIZE = 1_000

/** The plants of a MongoDB, as the majority has them; throws a TypeError if the URL cannot be used. */
export function mongoSource (url: string): PlantSource {
  const client = connectionTo(url, READ_TIMEOUT)
  const documents = databaseOf(client, url).collection<{ _id: bigint | number }>('plants', {
    readPreference: 'primary', readConcern: 'majority', useBigInt64: true
  })
  let size = NaN

  return {
    async * pages (signal) {
      try {
        size = await documents.estimatedDocumentCount()
        const last = { sort: { _id: -1 }, projection: { _id: 1 } } as const
        const highest = await documents.findOne({ _id: { $gte: LOWEST_ID } }, last)
        // An id that is no number matches no operator but $nor. It is invalid, and must be reported.
        const upToHighest = { $nor: [{ _id: { $gt: highest?._id ?? LOWEST_ID } }] }
        const cursor = documents.find(upToHighest, { signal, batchSize: BATCH_SIZE }).sort({ _id: 1 })
        while (await cursor.hasNext()) yield cursor.readBufferedDocuments().map(entryOf)
      } catch (error) {
        throw new CopyError(faultOf(error as DriverError))
      } finally {
        await client.close()
      }
    },
    part: done => done / size
  }
}

function entryOf ({ _id, name, tag }: Document): Entry {
  const where = `id ${typeof _id === 'bigint' ? _id : loadDriver().BSON.EJSON.stringify(_id)}`
  return readEntry(where, () => ({ id: Number.isInteger(_id) ? BigInt(_id) : _id, name, tag }))
}
