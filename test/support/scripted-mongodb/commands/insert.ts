import type { Document } from 'bson'
import { CommandError, type Failure } from '../command-error.js'
import { acknowledge } from './acknowledge.js'
import type { Command } from './command.js'

const DUPLICATE_KEY = 11000

type Context = Parameters<Command>[0]

/** Stores documents, each id once. */
export const insert: Command = async context => {
  if (!context.member.isPrimary) throw new CommandError({ code: 10107, message: 'not primary' })
  const { n, writeErrors } = store(context)
  return { n, ...(writeErrors.length > 0 && { writeErrors }), ...await acknowledge(context), ok: 1 }
}

function store ({ request: { body, database, documents }, member, overrides }: Context) {
  const { memory } = member.deployment
  const namespace = `${database}.${body['insert']}`
  const collection = memory.collection(namespace)
  const writeErrors: Document[] = []
  let n = 0
  for (const [index, document] of documents.entries()) {
    const fault = overrides.fault?.(index)
    const isNew = fault?.stored !== false && memory.insert(collection, document)
    if (isNew && fault === undefined) {
      n++
    } else {
      writeErrors.push(fault === undefined ? duplicate(index, namespace, document) : failed(index, fault))
      if (body['ordered'] !== false) break
    }
  }
  return { n, writeErrors }
}

function failed (index: number, { code, message = 'scripted' }: Failure): Document {
  // A scripted duplicate is that of another unique index.
  return { index, code, errmsg: message, ...(code === DUPLICATE_KEY && { keyPattern: { name: 1 } }) }
}

function duplicate (index: number, namespace: string, { _id }: Document): Document {
  return {
    index,
    code: DUPLICATE_KEY,
    errmsg: `E11000 duplicate key error collection: ${namespace} index: _id_ dup key: { _id: ${_id} }`,
    keyPattern: { _id: 1 },
    keyValue: { _id }
  }
}
