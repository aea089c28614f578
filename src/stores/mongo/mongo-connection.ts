import { createRequire } from 'node:module'
import type { MongoClient, MongoClientOptions } from 'mongodb'
import { messageOf } from '../../error-message.js'

/**
 * Makes a client of this package's own, not connected yet. Only this function loads the driver: 131 modules.
 * @param storeTimeout milliseconds within which a create request must complete, from which the driver's timeouts follow
 * @throws {TypeError} if the URL is invalid; the message contains no credentials
 */
export function connectionTo (url: string, storeTimeout: number): MongoClient {
  const driver: typeof import('mongodb') = createRequire(import.meta.url)('mongodb')
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
    return new driver.MongoClient(url, { ...options, monitorCommands: true })
  } catch (error) {
    const message = messageOf(error)
    // The driver's messages may contain the URL, or `user:password` if there is no host behind it.
    throw new TypeError(/@|^Unable to parse/.test(message) ? 'the MongoDB URL cannot be read' : message)
  }
}

/** The database in the path of a client's URL, else `plant_store`. If the URL names none, the driver says `test`. */
export function databaseOf<Database> (
  client: { options: { dbName: string }, db (name: string): Database }, url = ''
): Database {
  const { dbName } = client.options
  const isNamed = dbName !== 'test' || /^[^/]*\/\/[^/?]*\/test(?:\?|$)/.test(url)
  return client.db(isNamed ? dbName : 'plant_store')
}
