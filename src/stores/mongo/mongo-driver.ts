import { createRequire } from 'node:module'
import type { MongoClient, MongoClientOptions } from 'mongodb'
import { codeOf, messageOf } from '../../error-message.js'

// Tools that trace which files an app needs see a call of `require`, but not one of `createRequire(…)`.
const require = createRequire(import.meta.url)

/**
 * How responses are decoded, whatever the client's own options are. Integers are numbers if they are exact, otherwise
 * Long: with `useBigInt64` the driver's monitor would throw an uncaught error on a topology version. A server may cut a
 * message in the middle of a character: that must not hide its code.
 */
export const COMMAND_OPTIONS = {
  readPreference: 'primary',
  raw: false,
  promoteValues: true,
  promoteLongs: true,
  useBigInt64: false,
  enableUtf8Validation: false
} as const

/** What an insert asks for: the majority has it in its journal, so that it can no longer be rolled back. */
export const DURABLE = { writeConcern: { w: 'majority', j: true } } as const

// What is used of the driver's `Collection`, `Db` and `MongoClient`. The host's copy of the driver may not be this
// package's: private members would make their types incompatible, while any driver 7 satisfies these.

export interface MongoCollection {
  readonly collectionName: string
  readonly db: MongoDatabase
  find (filter: object, options: object): { toArray (): Promise<object[]> }
}

export interface MongoDatabase {
  readonly client: MongoDriverClient
  readonly databaseName: string
  collection (name: string): MongoCollection
  command (command: object, options: object): Promise<object>
}

export interface MongoDriverClient {
  readonly options: { dbName: string, serverSelectionTimeoutMS: number, socketTimeoutMS: number }
  db (name: string): MongoDatabase
  close (): Promise<void>
}

/** Loads the driver, an optional peer dependency of 131 modules. Throws an error that says what to do without it. */
export function loadDriver (): typeof import('mongodb') {
  try {
    return require('mongodb')
  } catch (error) {
    if (codeOf(error) !== 'MODULE_NOT_FOUND') throw error
    throw new Error('the package mongodb is not installed: run npm install mongodb')
  }
}

/**
 * Makes a client of this package's own, not connected yet.
 * @param storeTimeout milliseconds within which a create request must complete, from which the driver's timeouts follow
 * @throws {TypeError} if the URL is invalid; the message contains no credentials
 */
export function connectionTo (url: string, storeTimeout: number): MongoClient {
  const driver = loadDriver()
  // Several attempts fit into a request's timeout. The store itself retries, and remembers the outcome of each attempt.
  const fifth = Math.ceil(storeTimeout / 5)
  const defaults: MongoClientOptions = {
    appName: 'plant-store',
    serverSelectionTimeoutMS: fifth,
    connectTimeoutMS: fifth,
    waitQueueTimeoutMS: fifth,
    socketTimeoutMS: Math.ceil(storeTimeout / 2),
    retryWrites: false
  }
  // The URL takes precedence: in the driver, options would.
  const chosen = new Set([...url.matchAll(/[?&](\w+)=/g)].map(([, option = '']) => option.toLowerCase()))
  const options = Object.fromEntries(Object.entries(defaults).filter(([option]) => !chosen.has(option.toLowerCase())))
  try {
    return new driver.MongoClient(url, options)
  } catch (error) {
    throw new TypeError(reasonOfUrl(messageOf(error), url))
  }
}

/** Why the driver refuses a URL, without credentials. */
function reasonOfUrl (message: string, url: string): string {
  // A character that must be escaped makes another part of the URL out of a part of the user name or the password, so
  // that the message may contain it; as it does if there is no host behind `user:password`.
  const isUnescaped = /unescaped|malformed|^Invalid connection string|^Unable to parse|@/.test(message)
  const mayContainSecret = isUnescaped || /\?.*@/.test(url)
  if (!mayContainSecret) return message
  return 'the URL cannot be read; in a user name and a password, percent-encode all but letters, digits and -._~ (@ is %40)'
}

interface Client<Database> { options: { dbName: string }, db (name: string): Database }

/** The database in the path of a client's URL, else `plant_store`. If the URL names none, the driver says `test`. */
export function databaseOf<Database> (client: Client<Database>, url = ''): Database {
  const { dbName } = client.options
  const isNamed = dbName !== 'test' || /^[^/]*\/\/[^/?]*\/test(?:\?|$)/.test(url)
  return client.db(isNamed ? dbName : 'plant_store')
}
