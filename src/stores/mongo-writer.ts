import { randomBytes } from 'node:crypto'
import {
  MongoServerError, MongoServerSelectionError, MongoWriteConcernError,
  type Collection, type CommandStartedEvent, type Document, type MongoClient
} from 'mongodb'
import { connectionFault, wasSilent } from './mongo-connection-fault.js'
import { PlantNotStored, PlantPerhapsStored, type NewPlant } from './plant-store.js'
import type { BatchWriter, WriteResult } from './shared-writes.js'

/** A plant in MongoDB. A bigint is written as a BSON int64 (Long). */
export interface PlantDocument {
  _id: bigint
  name: string
  tag?: string
}

/** Answered by `insert`, https://www.mongodb.com/docs/manual/reference/command/insert/#output */
interface InsertReply {
  writeErrors?: { index: number, code: number, errmsg: string }[]
  writeConcernError?: { code: number, errmsg: string }
}

// https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml
const DUPLICATE_KEY = 11000
/** Errors that say that the plant, or the service, will never be let in: nothing was written, and waiting does not help. */
const REFUSALS = new Set([13 /* Unauthorized */, 18 /* AuthenticationFailed */, 121])
/**
 * How replies are read, whatever the client's own settings: numbers as numbers where they are exact, else as Long. With
 * `useBigInt64` an error's topology version would hold a bigint, of which the driver's monitor dies, uncaught.
 */
export const REPLIES = { promoteValues: true, promoteLongs: true, useBigInt64: false } as const
/** Milliseconds before the deadline at which a try is given up, so that its evidence is still told. */
const END_OF_TRY = 50

/**
 * Writes batches of plants with the `insert` command, unordered, majority and journal, and tells what became of each plant
 * by the evidence:
 *
 * - no error for it, in an answer without a write concern error: stored;
 * - a duplicate key: what is there is read with majority, and compared;
 * - a write concern error: open, as the write can still be rolled back;
 * - no `insert` of the batch left this process: not stored, unless MongoDB was silent;
 * - anything else (a lost answer, a shard's failure that mongos passes on as a write error): open.
 *
 * It runs the command itself because the driver's `insertMany` does not hand on the server's answer, and measures each
 * document once more than needed.
 */
export class MongoWriter implements BatchWriter {
  readonly maxInFlight = 16
  readonly #plants: Collection<PlantDocument>
  readonly #client: MongoClient
  readonly #connect: () => Promise<void>
  /** Milliseconds: somewhat more than the driver waits for an answer, where it does not wait for ever. */
  readonly #longestTry: number = 2 ** 31 - 1
  readonly #name = `plant-store ${randomBytes(6).toString('hex')}`
  #batches = 0
  /** Comments of the batches under way whose command went out; undefined where the client does not tell. */
  readonly #sent: Set<unknown> | undefined

  /** @param connect makes sure that there is a connection, or throws what `connectionFault` reads */
  constructor (plants: Collection<PlantDocument>, connect: () => Promise<void>) {
    this.#plants = plants
    this.#connect = connect
    this.#client = plants.db.client
    const { socketTimeoutMS } = this.#client.options
    if (socketTimeoutMS > 0) this.#longestTry = socketTimeoutMS * 1.2
    if (this.#client.options.monitorCommands) {
      this.#sent = new Set()
      this.#client.on('commandStarted', this.#onCommand)
    }
  }

  close (): void {
    this.#client.off('commandStarted', this.#onCommand)
  }

  readonly #onCommand = ({ commandName, command }: CommandStartedEvent): void => {
    if (commandName === 'insert' && String(command.comment).startsWith(this.#name)) this.#sent?.add(command.comment)
  }

  async write (plants: readonly NewPlant[], deadline: number): Promise<readonly WriteResult[]> {
    const comment = `${this.#name} ${++this.#batches}`
    // The driver's own time limits are not enough: a command whose connection closes while it is being written to it never
    // comes to an end, and keeps its place in the pool. Aborted, it gives both back.
    const limit = new AbortController()
    const timer = setTimeout(
      () => limit.abort(new Error('no answer in time')),
      Math.min(this.#longestTry, deadline - performance.now() - END_OF_TRY)
    )
    try {
      await this.#connect()
      const reply = await this.#plants.db.command({
        insert: this.#plants.collectionName,
        documents: plants.map(documentOf),
        ordered: false,
        writeConcern: { w: 'majority', j: true },
        comment
      }, { readPreference: 'primary', ...REPLIES, signal: limit.signal })
      return await this.#judge(plants, reply as InsertReply, limit.signal)
    } catch (error) {
      // The driver throws an answer that holds a write concern error; what it says of each plant is in there.
      if (error instanceof MongoWriteConcernError) return await this.#judge(plants, error.result as InsertReply, limit.signal)
      const failure = this.#failure(error, comment)
      return plants.map(() => failure)
    } finally {
      clearTimeout(timer)
      this.#sent?.delete(comment)
    }
  }

  async #judge (plants: readonly NewPlant[], { writeErrors, writeConcernError }: InsertReply, signal: AbortSignal): Promise<readonly WriteResult[]> {
    if (writeErrors === undefined && writeConcernError === undefined) return plants.map(() => 'stored')
    const open = writeConcernError && new PlantPerhapsStored(`MongoDB: write concern error ${told(writeConcernError)}`)
    const results: WriteResult[] = plants.map(() => open ?? 'stored')
    const duplicates: number[] = []
    for (const error of writeErrors ?? []) {
      if (error.code === DUPLICATE_KEY) duplicates.push(error.index)
      else results[error.index] = writeFailure(error)
    }
    if (duplicates.length > 0) await this.#compare(plants, duplicates, results, signal)
    return results
  }

  /** Tells the same plant from another under its id. What is there but not majority yet may be rolled back: open. */
  async #compare (
    plants: readonly NewPlant[], duplicates: readonly number[], results: WriteResult[], signal: AbortSignal
  ): Promise<void> {
    let found: Map<string, Document>
    try {
      const ids = duplicates.map(index => (plants[index] as NewPlant).id)
      const documents = await this.#plants.find({ _id: { $in: ids } }, {
        readPreference: 'primary',
        readConcern: 'majority',
        ...REPLIES,
        signal
      }).toArray()
      found = new Map(documents.map(document => [String(document._id), document]))
    } catch (error) {
      const open = new PlantPerhapsStored(`MongoDB: a plant with this id is there, and could not be read: ${connectionFault(error)}`)
      for (const index of duplicates) results[index] = open
      return
    }
    for (const index of duplicates) {
      const { id, name, tag } = plants[index] as NewPlant
      const document = found.get(String(id))
      if (document === undefined) results[index] = new PlantPerhapsStored('MongoDB: a plant with this id is there, but not on the majority yet')
      else results[index] = document.name === name && document.tag === tag ? 'same' : 'taken'
    }
  }

  #failure (error: unknown, comment: string): PlantNotStored | PlantPerhapsStored {
    const reason = connectionFault(error)
    const refused = error instanceof MongoServerError && REFUSALS.has(Number(error.code))
    if (refused) return new PlantNotStored(reason, { permanent: true })
    const surelyNot = error instanceof MongoServerError
      ? error.hasErrorLabel('NoWritesPerformed')
      : !wasSilent(error) && (error instanceof MongoServerSelectionError || this.#sent?.has(comment) === false)
    return new (surelyNot ? PlantNotStored : PlantPerhapsStored)(reason)
  }
}

function documentOf ({ id, name, tag }: NewPlant): PlantDocument {
  return tag === undefined ? { _id: id, name } : { _id: id, name, tag }
}

function writeFailure (error: { code: number, errmsg: string }): PlantNotStored | PlantPerhapsStored {
  const reason = `MongoDB: write error ${told(error)}`
  return REFUSALS.has(error.code) ? new PlantNotStored(reason, { permanent: true }) : new PlantPerhapsStored(reason)
}

function told ({ code, errmsg }: { code: number, errmsg: string }): string {
  // The message of a duplicate or of a validator quotes the plant, which no log may hold.
  return REFUSALS.has(code) ? String(code) : `${code} (${errmsg})`
}
