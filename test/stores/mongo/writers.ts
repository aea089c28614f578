import { createRequire } from 'node:module'
import { MongoClient, type Collection, type MongoClientOptions } from 'mongodb'
import type { Test } from 'tap'
import type { Clock } from '../../../src/clock.js'
import type { MongoCollection } from '../../../src/stores/mongo/mongo-driver.js'
import { MongoWriter } from '../../../src/stores/mongo/mongo-writer.js'
import type { ScriptedMongo } from '../../support/scripted-mongodb/scripted-mongo.js'

export type Driver = typeof import('mongodb')

const require = createRequire(import.meta.url)
export const ownDriver: Driver = require('mongodb')

/** Another copy of the driver, as npm may install it for a host: other classes, same names. */
export function copiedDriver (t: Test): Driver {
  const isOfDriver = (path: string) => path.includes('/node_modules/mongodb/')
  const loaded = Object.entries(require.cache).filter(([path]) => isOfDriver(path))
  for (const [path] of loaded) delete require.cache[path]
  const driver: Driver = require('mongodb')
  t.not(driver.MongoClient, ownDriver.MongoClient)
  return driver
}

/** A writer on a host's client. */
export async function writerOn (
  t: Test, mongo: ScriptedMongo, driver = ownDriver, options: MongoClientOptions = {}
): Promise<MongoWriter> {
  const client = new driver.MongoClient(mongo.url, { retryWrites: false, ...options })
  t.teardown(() => client.close())
  await client.connect()
  const writer = new MongoWriter(client.db('plant_store').collection('plants'))
  t.teardown(() => writer.close())
  return writer
}

/** A writer whose client is its own, and the clients that it has made. */
export function ownClientOn (
  t: Test, mongo: Pick<ScriptedMongo, 'url'>, { clock, ...options }: MongoClientOptions & { clock?: Clock } = {}
): { writer: MongoWriter, clients: readonly MongoClient[] } {
  const clients: MongoClient[] = []
  const connect = (): Collection => {
    const client = new MongoClient(mongo.url, { serverSelectionTimeoutMS: 1_500, ...options })
    clients.push(client)
    return client.db('plant_store').collection('plants')
  }
  const writer = new MongoWriter(connect(), connect, clock)
  t.teardown(() => Promise.all([writer.close(), ...clients.map(client => client.close())]))
  return { writer, clients }
}

/** The documents of an insert. */
export interface InsertCommand { documents: readonly { _id: bigint, name: string }[] }

/** A writer whose database responds with what the function returns or throws; nothing is found by a read. */
export function writerWith (respond: (command: InsertCommand) => unknown): MongoWriter {
  const collection: MongoCollection = {
    collectionName: 'plants',
    db: {
      client: {
        options: { dbName: 'garden', serverSelectionTimeoutMS: 30_000, socketTimeoutMS: 0 },
        db: () => collection.db,
        close: async () => {}
      },
      databaseName: 'garden',
      collection: () => collection,
      command: async command => await respond(command as InsertCommand) as object
    },
    find: () => ({ toArray: async () => [] })
  }
  return new MongoWriter(collection)
}
