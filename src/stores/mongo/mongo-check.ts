import { randomUUID } from 'node:crypto'
import { codeOf } from '../../error-message.js'
import { COMMAND_OPTIONS, DURABLE, type MongoCollection, type MongoDatabase } from './mongo-driver.js'

/** What servers answer to an insert without documents: BadValue, FailedToParse, InvalidLength, EmptyArrayOperation. */
const NOTHING_TO_INSERT = [2, 9, 16, 21]
const UNAUTHORIZED = 13

// Part of a reply: https://www.mongodb.com/docs/manual/reference/command/connectionStatus/
interface ConnectionStatus { authInfo?: { authenticatedUserPrivileges?: Privilege[] } }
interface Privilege { actions: string[], resource: { collection?: string } }

/**
 * Does all that a write needs, but changes nothing.
 *
 * It sends an insert of no documents, which shows whether the server takes this write concern, and an update that
 * finds no document: MongoDB refuses such an insert before it looks at rights and blocked writes, but not such an
 * update. An insert of a document that MongoDB refuses would show both, but other servers store it.
 * @throws what the driver throws, or the error of the update
 */
export async function checkWriting ({ db, collectionName }: MongoCollection, signal: AbortSignal): Promise<void> {
  const options = { ...COMMAND_OPTIONS, signal }
  await insertNothing(db, collectionName, options)
  try {
    await updateNothing(db, collectionName, options)
  } catch (error) {
    // A role may have the right to insert, and not that to update.
    const mayWrite = codeOf(error) === UNAUTHORIZED && await mayInsert(db, collectionName, options)
    if (!mayWrite) throw error
  }
}

async function insertNothing (db: MongoDatabase, collectionName: string, options: object): Promise<void> {
  try {
    await db.command({ insert: collectionName, documents: [], ...DURABLE }, options)
  } catch (error) {
    if (!NOTHING_TO_INSERT.includes(Number(codeOf(error)))) throw error
  }
}

async function updateNothing (db: MongoDatabase, collectionName: string, options: object): Promise<void> {
  const updates = [{ q: { _id: `plant-store ${randomUUID()}` }, u: { $set: { name: '' } } }]
  const reply: { writeErrors?: object[] } = await db.command({ update: collectionName, updates, ...DURABLE }, options)
  const [error] = reply.writeErrors ?? []
  if (error !== undefined) throw Object.assign(new Error(), error, { name: 'MongoServerError' })
}

async function mayInsert (db: MongoDatabase, collectionName: string, options: object): Promise<boolean> {
  let status: ConnectionStatus
  try {
    status = await db.command({ connectionStatus: 1, showPrivileges: true }, options)
  } catch {
    // Not every server has the command. Then the refusal counts.
    return false
  }
  const privileges = status.authInfo?.authenticatedUserPrivileges ?? []
  return privileges.some(({ actions, resource }) => {
    const isOfAllCollections = resource.collection === undefined || resource.collection === ''
    return actions.includes('insert') && (isOfAllCollections || resource.collection === collectionName)
  })
}
