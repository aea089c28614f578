import type { Document } from 'bson'
import { selectDocuments } from './select-documents.js'
import type { Command } from './command.js'

/** Finds documents by `_id`, all of them or those that are majority-committed. */
export const find: Command = ({ request, member }) => {
  const { body, database } = request
  const limit = Math.abs(Number(body['limit'] ?? 0)) || Infinity
  const skip = Number(body['skip'] ?? 0)
  const found = selectDocuments(member, request, body['find'], body['filter'], body['sort']).slice(skip, skip + limit)
  const documents = found.map((document) => project(document, body['projection']))
  const { id, batch } = member.cursors.open(documents, Number(body['batchSize'] ?? 101))
  if (body['singleBatch'] === true) member.cursors.kill(Number(id))
  return { cursor: { id: body['singleBatch'] === true ? id.multiply(0) : id, ns: `${database}.${body['find']}`, firstBatch: batch }, ok: 1 }
}

function project (document: Document, projection: Document = {}): Document {
  const wanted = Object.entries(projection).map(([field, how]) => [field, Boolean(how?.valueOf())] as const)
  if (wanted.length === 0) return document
  const inclusive = wanted.some(([field, included]) => included && field !== '_id')
  const chosen = new Map(wanted)
  const keep = (field: string) => chosen.get(field) ?? (field === '_id' || !(inclusive || chosen.get('_id') === true))
  return Object.fromEntries(Object.entries(document).filter(([field]) => keep(field)))
}
