import { MongoClient, type Db } from 'mongodb'
import { describe, insert, reasonOf, responseOf, type Behaviour, type Server } from './behaviour.js'

// What else this service, or a host beside it, asks of a server.

/** No deployment has as many members. */
const MEMBERS = 50
/** It is a race whether the driver reads a response that it does not expect. */
const ROUNDS = 10

export const commandBehaviours: readonly Behaviour[] = [
  { name: 'a write concern that it cannot meet', observe: ({ database }) => impossibleWriteConcern(database) },
  { name: 'a read concern that does not exist', observe: ({ database }) => unknownReadConcern(database) },
  { name: 'the driver\'s cursor over 200 documents', observe: ({ database }) => cursor(database) },
  { name: 'after a host\'s `w: 0` on the same client', observe: afterUnacknowledgedWrites }
]

async function impossibleWriteConcern (database: Db): Promise<string> {
  const writeConcern = { w: MEMBERS, wtimeout: 500 }
  const response = await responseOf(database, { insert: 'plants_of_concern', documents: [{ _id: 1n }], writeConcern })
  return describe(response)
}

async function unknownReadConcern (database: Db): Promise<string> {
  const response = await responseOf(database, { find: 'plants_of_concern', readConcern: { level: 'no such level' } })
  return describe(response)
}

async function cursor (database: Db): Promise<string> {
  await insert(database, 'plants_of_int32', Array.from({ length: 200 }, (_, _id) => ({ _id })))
  const found = await database.collection('plants_of_int32').find().toArray().catch(reasonOf)
  return typeof found === 'string' ? found : `${found.length} found`
}

/**
 * The driver expects no response to an insert with `w: 0`. If the server sends one, the driver takes it for that of the
 * next command on the connection.
 */
async function afterUnacknowledgedWrites ({ url }: Server): Promise<string> {
  const client = new MongoClient(url, { maxPoolSize: 1, serverSelectionTimeoutMS: 5_000, socketTimeoutMS: 5_000 })
  try {
    const database = client.db()
    for (let round = 0; round < ROUNDS; round++) {
      await database.collection('plants_unacknowledged').insertOne({ round }, { writeConcern: { w: 0 } })
      const response = await database.command({ buildInfo: 1 }).catch(() => ({}))
      if (!('version' in response)) return 'commands get the responses to those before'
    }
    return 'right'
  } finally {
    await client.close(true)
  }
}
