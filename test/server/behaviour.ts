import { MongoServerError, MongoWriteConcernError, type Db, type Document } from 'mongodb'

/** The server that is looked at, by a client and a database of the check's own. */
export interface Server {
  /** The server's URL with the database of the check in its path. */
  readonly url: string
  /** Decodes every 64-bit integer as a bigint. */
  readonly database: Db
  readonly hasDecimal128: boolean
}

/** One row of the table. */
export interface Behaviour {
  readonly name: string
  /** Whether this service is unsafe on a server where it is wrong. */
  readonly decides?: boolean
  /**
   * Looks at the server.
   * @returns what it does, in a few words
   * @throws {Wrong} what is wrong, of a behaviour that decides; any other error counts as wrong, too
   */
  readonly observe: (server: Server) => Promise<string>
}

/** What a server, or this service on it, does wrong. */
export class Wrong extends Error {}

/** The server's response to a command, also if the driver throws it as an error. */
export async function responseOf (database: Db, command: Document): Promise<Document> {
  try {
    return await database.command(command)
  } catch (error) {
    if (error instanceof MongoWriteConcernError) return error.result
    if (error instanceof MongoServerError) return error.errorResponse
    throw error
  }
}

/** Inserts the documents that a behaviour needs. */
export async function insert (database: Db, collection: string, documents: Document[]): Promise<void> {
  const response = await responseOf(database, { insert: collection, documents })
  if (Number(response.n) !== documents.length) throw new Error(describe(response))
}

/** Finds documents without the driver's cursor, which cannot read the cursor ids of every server. */
export async function find (
  database: Db, collection: string, query: Document = {}, options: Document = {}
): Promise<Document[]> {
  const command = { find: collection, batchSize: 1_000_000, ...query }
  const { cursor } = await database.command(command, options)
  if (Number(cursor.id) !== 0) throw new Error('more than one batch')
  return cursor.firstBatch
}

/** A response in a few words, without the server's message, which may be long. */
export function describe ({ ok, n, code, codeName, writeErrors, writeConcernError }: Document): string {
  if (Number(ok) !== 1) return `error ${codeOf({ code, codeName })}`
  const [writeError] = writeErrors ?? []
  if (writeError !== undefined) return `write error ${codeOf(writeError)}`
  if (writeConcernError !== undefined) return `write concern error ${codeOf(writeConcernError)}`
  return n === undefined ? 'accepted' : `accepted, n: ${n}`
}

function codeOf ({ code, codeName }: Document): string {
  if (code === undefined) return 'without a code'
  return codeName === undefined ? String(code) : `${code} (${codeName})`
}

/** Why something failed, in one line that is the same in each run. */
export function reasonOf (error: unknown): string {
  if (error instanceof MongoServerError) return describe({ ...error.errorResponse, ok: 0 })
  const message = error instanceof Error ? error.message : String(error)
  const reason = message.replace(/connection \d+ to \S+/g, 'the connection')
  return reason.trim().replace(/\s+/g, ' ').slice(0, 200)
}

/** Why a create of a store was rejected. */
export function failureOf (error: unknown): string {
  const { name } = error as Error
  const cause = reasonOf(error).split(': ').at(-1)
  if (name === 'PlantOutcomeUnknown') return `unknown (${cause})`
  return name === 'PlantNotStored' ? `not stored (${cause})` : `${name} (${cause})`
}
