import { randomUUID } from 'node:crypto'
import { COMMAND_OPTIONS, DURABLE, type MongoCollection } from './mongo-driver.js'
import type { DriverError } from './mongo-errors.js'

/** The responses to an insert without documents. */
const NOTHING_TO_INSERT = Object.values({ BadValue: 2, FailedToParse: 9, InvalidLength: 16, EmptyArrayOperation: 21 })
const UNAUTHORIZED = 13

/** Runs a command. Of its reply: https://www.mongodb.com/docs/manual/reference/command/connectionStatus/ */
type Run = (command: object) => Promise<{
  writeErrors?: object[]
  authInfo?: {
    authenticatedUserPrivileges?: { actions: string[], resource: { db?: string, collection?: string } }[]
  }
}>

export async function ping ({ db }: MongoCollection, signal: AbortSignal): Promise<void> {
  await db.command({ ping: 1 }, { ...COMMAND_OPTIONS, signal })
}

/**
 * Does all that a write needs, but changes nothing.
 *
 * It sends an insert of no documents, which shows whether the server takes this write concern, and an update that
 * finds no document: MongoDB refuses such an insert before it looks at rights and blocked writes, but not such an
 * update. An insert of a document that MongoDB refuses would show both, but other servers store it.
 * @throws what the driver throws, or the error of the update
 */
export async function checkWriting ({ db, collectionName }: MongoCollection, signal: AbortSignal): Promise<void> {
  const run: Run = command => db.command(command, { ...COMMAND_OPTIONS, signal })
  await run({ insert: collectionName, documents: [], ...DURABLE }).catch((error: DriverError) => {
    if (!NOTHING_TO_INSERT.includes(Number(error.code))) throw error
  })
  try {
    const updates = [{ q: { _id: `plant-store ${randomUUID()}` }, u: { $set: { name: '' } } }]
    const { writeErrors: [refusal] = [] } = await run({ update: collectionName, updates, ...DURABLE })
    if (refusal !== undefined) throw Object.assign(new Error(), refusal, { name: 'MongoServerError' })
  } catch (error) {
    // A role may have the right to insert, and not that to update.
    const isDenied = (error as DriverError).code === UNAUTHORIZED
    if (!isDenied || !await mayInsert(run, db.databaseName, collectionName)) throw error
  }
}

async function mayInsert (run: Run, databaseName: string, collectionName: string): Promise<boolean> {
  // Not every server has the command. Then the refusal counts.
  const status = await run({ connectionStatus: 1, showPrivileges: true }).catch(() => undefined)
  const privileges = status?.authInfo?.authenticatedUserPrivileges ?? []
  return privileges.some(({ actions, resource: { db = '', collection = '' } }) => {
    const isHere = ['', databaseName].includes(db) && ['', collectionName].includes(collection)
    return isHere && actions.includes('insert')
  })
}
