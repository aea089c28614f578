import { createRequire } from 'node:module'
import { MongoClient, type Collection, type MongoClientOptions } from 'mongodb'
import type { Test } from 'tap'
import type { Clock } from '../../../src/clock.js'
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
  const client = new driver.MongoClient(mongo.url, { monitorCommands: true, retryWrites: false, ...options })
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
    const client = new MongoClient(mongo.url, { monitorCommands: true, serverSelectionTimeoutMS: 1_500, ...options })
    clients.push(client)
    return client.db('plant_store').collection('plants')
  }
  const writer = new MongoWriter(connect(), connect, clock)
  t.teardown(() => Promise.all([writer.close(), ...clients.map(client => client.close())]))
  return { writer, clients }
}
