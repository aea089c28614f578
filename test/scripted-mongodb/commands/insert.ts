import { ObjectId, type Document } from 'bson'
import { CommandError, type Failure } from '../command-error.js'
import { ERROR_NAMES } from '../error-names.js'
import type { Stored } from '../memory.js'
import { acknowledge } from './acknowledge.js'
import type { Command } from './command.js'

type Context = Parameters<Command>[0]

/** Stores documents, each id once, and each statement of a retryable write once, however often it is sent. */
export const insert: Command = async (context) => {
  requireWritable(context)
  const { n, retriedStmtIds, writeErrors } = store(context)
  return {
    n,
    ...(retriedStmtIds.length > 0 && { retriedStmtIds }),
    ...(writeErrors.length > 0 && { writeErrors }),
    ...await acknowledge(context),
    ok: 1
  }
}

function requireWritable ({ request, member }: Context): void {
  const retryable = request.body['txnNumber'] !== undefined
  if (!member.isPrimary) {
    throw new CommandError({ code: 10107, message: 'not primary', labels: retryable ? ['RetryableWriteError'] : [] })
  }
  if (retryable && member.deployment.kind === 'standalone') {
    throw new CommandError({ code: 20, message: 'Transaction numbers are only allowed on a replica set member or mongos' })
  }
}

function store ({ request: { body, database, documents }, member, manner }: Context) {
  const { memory, retryableWrites } = member.deployment
  const namespace = `${database}.${body['insert']}`
  const collection = memory.collection(namespace)
  const executed: Array<Stored | undefined> = retryableWrites.executed(body) ?? []
  const retriedStmtIds: number[] = []
  const writeErrors: Document[] = []
  let n = 0
  for (const [index, document] of documents.entries()) {
    const statement = Number(body['stmtIds']?.[index] ?? index)
    const before = executed[statement]
    if (before !== undefined && before.state !== 'rolled back') {
      retriedStmtIds.push(statement)
      n++
      continue
    }
    const fault = manner.fault?.(index)
    const identified = document['_id'] === undefined ? { _id: new ObjectId(), ...document } : document
    const stored = fault?.stored === false ? undefined : memory.insert(collection, identified)
    if (stored !== undefined) executed[statement] = stored
    if (stored !== undefined && fault === undefined) {
      n++
    } else {
      writeErrors.push(fault === undefined ? duplicate(index, namespace, identified) : failed(index, fault))
      if (body['ordered'] !== false) break
    }
  }
  return { n, retriedStmtIds, writeErrors }
}

function failed (index: number, { code, codeName = ERROR_NAMES[code], message = codeName ?? 'scripted' }: Failure): Document {
  return { index, code, codeName, errmsg: message }
}

function duplicate (index: number, namespace: string, { _id }: Document): Document {
  return {
    index,
    code: 11000,
    errmsg: `E11000 duplicate key error collection: ${namespace} index: _id_ dup key: { _id: ${_id} }`,
    keyPattern: { _id: 1 },
    keyValue: { _id }
  }
}
