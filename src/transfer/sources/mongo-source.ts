import { setTimeout as sleep } from 'node:timers/promises'
import type { Collection, Filter, FindOptions, MongoClient } from 'mongodb'
import { connectionTo, databaseOf } from '../../stores/mongo/mongo-connection.js'
import { connectionFault, isServerError } from '../../stores/mongo/mongo-errors.js'
import { REPLIES } from '../../stores/mongo/mongo-writer.js'
import { TransferFault } from '../transfer-fault.js'
import { DocumentsPage, type NumericId } from './documents-page.js'
import { PAGE_PLANTS, type PlantSource } from './plant-source.js'

const LOWEST_ID = -(2n ** 63n)
/** Milliseconds for which reading a page is retried, for example during an election. */
const RETRY_MS = 60_000
const RETRY_INTERVAL_MS = 500
/** Unauthorized, AuthenticationFailed */
const REFUSALS = new Set<unknown>([13, 18])

// Raw, since the driver would refuse a whole batch because of one document that is not UTF-8.
const READ: FindOptions = { raw: true, sort: { _id: 1 }, batchSize: PAGE_PLANTS, readPreference: 'primary', readConcern: 'majority' }
const HIGHEST: FindOptions = { sort: { _id: -1 }, projection: { _id: 1 }, readPreference: 'primary', readConcern: 'majority' }

/** A plant's document, as far as queries name its fields. */
interface PlantDocument {
  _id: NumericId
}

/**
 * The plants of a MongoDB in the order of their ids, as the majority has them, a page at a time: every plant stored at
 * the start, and perhaps later ones. Reading stops at the highest id of the start, since a service could create plants
 * faster than they are copied. Reading a page is retried for a minute.
 * @throws {TypeError} if the URL cannot be used
 * @throws {TransferFault} if MongoDB cannot be reached
 */
export async function connectMongo (url: string): Promise<PlantSource> {
  const client = connectionTo(url, RETRY_MS)
  try {
    await client.connect()
    const documents = databaseOf(client, url).collection<PlantDocument>('plants', REPLIES)
    const size = await documents.estimatedDocumentCount()
    const highest = await documents.findOne({ _id: { $gte: LOWEST_ID } }, HIGHEST)
    return mongoSource(client, documents, size, highest?._id ?? LOWEST_ID)
  } catch (error) {
    await client.close()
    throw new TransferFault(connectionFault(error))
  }
}

function mongoSource (
  client: MongoClient, documents: Collection<PlantDocument>, size: number, highestId: NumericId
): PlantSource {
  let position = 0

  async function * find (filter: Filter<PlantDocument>, signal: AbortSignal): AsyncGenerator<DocumentsPage> {
    if (signal.aborted) return
    let page = new DocumentsPage()
    for await (const bytes of documents.find<Uint8Array>(filter, READ)) {
      page.addDocument(bytes)
      position++
      if (!page.isFull) continue
      yield page
      if (signal.aborted) return
      page = new DocumentsPage()
    }
    if (page.length > 0) yield page
  }

  return {
    size,
    get position () { return position },
    async * pages (signal) {
      let filter: Filter<PlantDocument> = { _id: { $gte: LOWEST_ID, $lte: highestId } }
      let deadline: number | undefined
      for (let done = false; !done && !signal.aborted;) {
        try {
          for await (const page of find(filter, signal)) {
            yield page
            if (page.lastId !== undefined) filter = { _id: { $gt: page.lastId, $lte: highestId } }
            deadline = undefined
          }
          done = true
        } catch (error) {
          deadline ??= performance.now() + RETRY_MS
          if (!isTemporary(error) || performance.now() > deadline) throw readFault(error)
          await sleep(RETRY_INTERVAL_MS, undefined, { signal }).catch(() => {})
        }
      }
      try {
        // A comparison selects numbers only. Documents with an id of another type must be reported as invalid.
        yield * find({ $nor: [{ _id: { $gte: LOWEST_ID } }] }, signal)
      } catch (error) {
        throw readFault(error)
      }
    },
    async close () { await client.close() }
  }
}

/** Whether a retry may help; not if MongoDB refuses permission to read. */
function isTemporary (error: unknown): boolean {
  return !(isServerError(error) && REFUSALS.has(error.code))
}

function readFault (error: unknown): TransferFault {
  return new TransferFault(connectionFault(error), { temporary: isTemporary(error) })
}
