import { setTimeout as sleep } from 'node:timers/promises'
import type { Collection, Filter, FindOptions, MongoClient } from 'mongodb'
import { connectionFault, isServerError } from '../../stores/mongo/mongo-errors.js'
import { connectionTo, databaseOf } from '../../stores/mongo/mongo-connection.js'
import { TransferFault } from '../transfer-fault.js'
import { DocumentsPage, type NumericId } from './documents-page.js'
import { PAGE_PLANTS, type PlantSource, type SourcePage } from './plant-source.js'

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
 */
export class MongoSource implements PlantSource {
  readonly size: number
  position = 0
  readonly #client: MongoClient
  readonly #documents: Collection<PlantDocument>
  readonly #highestId: NumericId

  private constructor (client: MongoClient, documents: Collection<PlantDocument>, size: number, highestId: NumericId) {
    this.#client = client
    this.#documents = documents
    this.size = size
    this.#highestId = highestId
  }

  /** Connects; throws a TypeError if the URL cannot be used, a TransferFault if MongoDB cannot be reached. */
  static async open (url: string): Promise<MongoSource> {
    const client = connectionTo(url, RETRY_MS)
    try {
      await client.connect()
      const documents = databaseOf(client).collection<PlantDocument>('plants')
      const size = await documents.estimatedDocumentCount()
      const highest = await documents.findOne({ _id: { $gte: LOWEST_ID } }, HIGHEST)
      return new MongoSource(client, documents, size, highest?._id ?? LOWEST_ID)
    } catch (error) {
      await client.close()
      throw new TransferFault(connectionFault(error))
    }
  }

  async * pages (signal: AbortSignal): AsyncGenerator<SourcePage> {
    let filter: Filter<PlantDocument> = { _id: { $gte: LOWEST_ID, $lte: this.#highestId } }
    let deadline: number | undefined
    for (let done = false; !done && !signal.aborted;) {
      try {
        for await (const page of this.#find(filter, signal)) {
          yield page
          if (page.lastId !== undefined) filter = { _id: { $gt: page.lastId, $lte: this.#highestId } }
          deadline = undefined
        }
        done = true
      } catch (error) {
        deadline ??= performance.now() + RETRY_MS
        if (!isTemporary(error) || performance.now() > deadline) throw unreadable(error)
        await sleep(RETRY_INTERVAL_MS, undefined, { signal }).catch(() => {})
      }
    }
    try {
      // A comparison selects numbers only. Documents with an id of another type must be reported as invalid.
      yield * this.#find({ $nor: [{ _id: { $gte: LOWEST_ID } }] }, signal)
    } catch (error) {
      throw unreadable(error)
    }
  }

  async * #find (filter: Filter<PlantDocument>, signal: AbortSignal): AsyncGenerator<DocumentsPage> {
    if (signal.aborted) return
    let page = new DocumentsPage()
    for await (const bytes of this.#documents.find<Uint8Array>(filter, READ)) {
      page.addDocument(bytes)
      this.position++
      if (!page.isFull) continue
      yield page
      if (signal.aborted) return
      page = new DocumentsPage()
    }
    if (page.length > 0) yield page
  }

  async close (): Promise<void> {
    await this.#client.close()
  }
}

/** Whether a retry may help; not if MongoDB refuses permission to read. */
function isTemporary (error: unknown): boolean {
  return !(isServerError(error) && REFUSALS.has(error.code))
}

function unreadable (error: unknown): TransferFault {
  return new TransferFault(connectionFault(error), { temporary: isTemporary(error) })
}
