import { randomBytes } from 'node:crypto'
import { MongoClient, MongoServerError, MongoServerSelectionError, type Document } from 'mongodb'
import { urlOfDatabase } from '../support/stores/database-url.js'
import { reasonOf, type Server } from './behaviour.js'

const SELECTION_TIMEOUT_MS = 5_000
/** Longer than any command of a healthy server takes. */
const COMMAND_TIMEOUT_MS = 15_000
/** Some servers sync each document that they remove. */
const DROP_TIMEOUT_MS = 120_000

const UNAUTHORIZED = 13
const AUTHENTICATION_FAILED = 18

/** The server could not be looked at; the message has one line, and no credentials. */
export class CannotCheck extends Error {}

export interface Connection extends Server {
  /** What the server says that it is. */
  readonly says: string
  /** Drops the database, or prints why it is still there, and closes the client. */
  end: () => Promise<void>
}

/**
 * Connects, and writes a document to a new database with a random name.
 * @throws {CannotCheck}
 */
export async function connect (serverUrl: string): Promise<Connection> {
  const name = `plant_store_check_${randomBytes(6).toString('hex')}`
  const url = urlOfDatabase(serverUrl, name)
  const client = clientOf(url, COMMAND_TIMEOUT_MS)
  const database = client.db()
  try {
    await database.command({ ping: 1 })
    await database.collection('writable').insertOne({ name: 'Ficus' })
    // Not every server has the command.
    const information = await database.command({ buildInfo: 1 }).catch(() => ({ version: 'unknown' }))
    const { version, ferret } = versionsIn(information)
    const says = ferret === undefined ? `MongoDB ${version}` : `MongoDB ${version}, FerretDB ${ferret}`
    const hasDecimal128 = !/^v?1\./.test(ferret ?? '')
    return { url, database, says, hasDecimal128, end: () => end(client, url) }
  } catch (error) {
    await client.close(true)
    throw new CannotCheck(explanation(error, client, name))
  }
}

/** A client of the database in the URL's path, not connected yet. */
function clientOf (url: string, socketTimeoutMS: number): MongoClient {
  try {
    return new MongoClient(url, {
      serverSelectionTimeoutMS: SELECTION_TIMEOUT_MS,
      connectTimeoutMS: SELECTION_TIMEOUT_MS,
      socketTimeoutMS,
      retryWrites: false,
      useBigInt64: true
    })
  } catch {
    // The driver's message may contain a password.
    throw new CannotCheck(
      'the URL cannot be read: it begins with mongodb:// or mongodb+srv://, ' +
      'and @, : and / in a password are percent-encoded'
    )
  }
}

/** Of a response to `buildInfo`: MongoDB's version, or the one that the server is compatible with, and FerretDB's. */
function versionsIn ({ version, ferretdb, ferretdbVersion }: Document): { version: string, ferret?: string } {
  return { version, ferret: ferretdb?.version ?? ferretdbVersion }
}

function explanation (error: unknown, client: MongoClient, database: string): string {
  const { hosts } = client.options
  const where = hosts.map(host => host.toString()).join(', ')
  const reason = reasonOf(error)
  const code = error instanceof MongoServerError ? error.code : undefined
  if (error instanceof MongoServerSelectionError) {
    return `no server responds at ${where} (${reason}): start it, or correct the URL`
  }
  if (code === AUTHENTICATION_FAILED) {
    return `${where} does not accept this user (${reason}): correct the URL's user, password or authSource`
  }
  if (code === UNAUTHORIZED) {
    return `the new database ${database} at ${where} may not be written to (${reason}): ` +
      'the URL needs a user with the roles readWriteAnyDatabase and dbAdminAnyDatabase'
  }
  return `${where} cannot be written to (${reason}): use the URL of a primary that takes writes`
}

async function end (client: MongoClient, url: string): Promise<void> {
  await client.close(true)
  const dropping = clientOf(url, DROP_TIMEOUT_MS)
  const database = dropping.db()
  try {
    await database.dropDatabase()
  } catch (error) {
    console.error(`the database ${database.databaseName} could not be dropped: ${reasonOf(error)}`)
  } finally {
    await dropping.close(true)
  }
}
