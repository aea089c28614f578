import type { Collection, Document } from 'mongodb'
import { int64Of } from '../../../stores/mongo/existing-plants.js'
import { connectionTo, databaseOf, loadDriver } from '../../../stores/mongo/mongo-driver.js'
import { reasonOf, type DriverError } from '../../../stores/mongo/mongo-errors.js'
import { CopyError, LOWEST_ID, readEntry, type Entry, type PlantSource } from './plant-source.js'

/** Milliseconds from which the driver's timeouts follow: a server is waited for during a fifth of it. */
const READ_TIMEOUT = 35_000
/** For the reader. */
const PAGE_SIZE = 1_000
/** Documents that a command asks for: some servers look at the whole collection in each. */
const READ_SIZE = 10_000

/** Its documents may be of any type. */
type Plants = Collection<{ _id: bigint }>

/** The plants of a MongoDB, as the majority has them; throws a TypeError if the URL cannot be used. */
export function mongoSource (url: string): PlantSource {
  const client = connectionTo(url, READ_TIMEOUT)
  const plants: Plants = databaseOf(client, url).collection('plants', {
    readPreference: 'primary', readConcern: 'majority'
  })
  let size = NaN

  return {
    async * pages (signal) {
      try {
        size = await plants.estimatedDocumentCount()
        yield * pagesOfPlants(plants, signal)
        yield * pagesWithoutIds(plants, signal)
      } catch (error) {
        throw new CopyError(reasonOf(error as DriverError))
      } finally {
        await client.close()
      }
    },
    part: done => done / size
  }
}

/**
 * The documents whose `_id` is a number. Each command reads on from the last id: a cursor would end while a slow reader
 * takes a page.
 */
async function * pagesOfPlants (plants: Plants, signal: AbortSignal): AsyncGenerator<Entry[]> {
  const last = { sort: { _id: -1 }, projection: { _id: 1 }, signal } as const
  const highest = await plants.findOne({ _id: { $gte: LOWEST_ID } }, last)
  if (highest === null) return
  let range: object = { $gte: LOWEST_ID, $lte: highest._id }
  for (;;) {
    // As bytes, in which each document can be decoded by itself. A response has at most as many as fit into it; without
    // a batch size, it would have 101.
    const size = { limit: READ_SIZE, batchSize: READ_SIZE, singleBatch: true }
    const options = { raw: true, projection: { name: 1, tag: 1 }, ...size, signal }
    const read = await plants.find({ _id: range }, options).sort({ _id: 1 }).toArray()
    const documents = (read as unknown as Uint8Array[]).map(decode)
    const end = documents.at(-1)
    if (end === undefined) return
    for (let from = 0; from < documents.length; from += PAGE_SIZE) {
      yield documents.slice(from, from + PAGE_SIZE).map(entryOf)
    }
    range = { $gt: end._id, $lte: highest._id }
  }
}

/** The other documents. None of them is a plant, so that nothing slow reads them. */
async function * pagesWithoutIds (plants: Plants, signal: AbortSignal): AsyncGenerator<Entry[]> {
  const others = { $nor: [{ _id: { $gte: LOWEST_ID } }] }
  const cursor = plants.find(others, { raw: true, projection: { name: 1, tag: 1 }, batchSize: PAGE_SIZE, signal })
  while (await cursor.hasNext()) {
    const documents = cursor.readBufferedDocuments() as unknown as Uint8Array[]
    yield documents.map(bytes => entryOf(decode(bytes)))
  }
}

/** Decodes a document exactly. Text that is not UTF-8 makes it one without a name. */
function decode (bytes: Uint8Array): Document {
  const { BSON } = loadDriver()
  try {
    return BSON.deserialize(bytes, { promoteValues: false })
  } catch {
    const { _id } = BSON.deserialize(bytes, { promoteValues: false, validation: { utf8: false } })
    return { _id, name: null }
  }
}

function entryOf ({ _id, name, tag }: Document): Entry {
  const id = int64Of(_id)
  const where = `id ${id ?? loadDriver().BSON.EJSON.stringify(_id)}`
  return readEntry(where, () => ({ id: id ?? _id, name, tag }))
}
