import type { Document } from 'bson'
import { CommandError } from '../command-error.js'
import { idKey, type IdKey } from '../id-key.js'
import type { Member } from '../member.js'
import type { Stored } from '../memory.js'
import type { Request } from '../wire/request.js'
import type { Command } from './command.js'

/** Finds documents by their ids: optionally sorted by id, limited, or their ids alone. */
export const find: Command = ({ request, member }) => {
  const { body, database } = request
  const { projection, limit, batchSize = 101, singleBatch = false } = body
  requireReadable(member, request)
  const query = (): Document[] => {
    const found = read(member, request, body['find'], body['filter'], body['sort']).slice(0, Number(limit ?? 0) || Infinity)
    return projection === undefined ? found : found.map(({ _id }) => ({ _id }))
  }
  const { id, batch } = member.cursors.open(query, singleBatch ? Infinity : Number(batchSize))
  return { cursor: { id, ns: `${database}.${body['find']}`, firstBatch: batch }, ok: 1 }
}

/** The next batch of a result set. */
export const getMore: Command = ({ request: { body, database }, member }) => {
  const { id, batch } = member.cursors.more(Number(body['getMore']), Number(body['batchSize'] ?? 0) || Infinity)
  return { cursor: { id, ns: `${database}.${body['collection']}`, nextBatch: batch }, ok: 1 }
}

/** The number of documents, for the driver's `estimatedDocumentCount`. */
export const count: Command = ({ request, member }) => ({ n: readAll(member, request, request.body['count']).length, ok: 1 })

/** All documents visible to this request. */
export function readAll (member: Member, request: Request, collectionName: string): Document[] {
  requireReadable(member, request)
  return read(member, request, collectionName)
}

/** The documents visible to this request that a filter on `_id` selects. */
function read (
  member: Member, request: Request, collectionName: string, filter: Document = {}, sort: Document = {}
): Document[] {
  const committedOnly = !member.isPrimary || request.body['readConcern']?.level === 'majority'
  const collection = member.deployment.memory.collection(`${request.database}.${collectionName}`)
  const found = matching(collection, filter).filter(({ state }) => state === 'majority' || !committedOnly)
  const direction = Number(sort['_id'] ?? 0)
  if (direction !== 0) found.sort(({ key: left }, { key: right }) => left < right ? -direction : direction)
  return found.map(({ document }) => document)
}

function requireReadable (member: Member, { body }: Request): void {
  const mode = body['$readPreference']?.mode ?? 'primary'
  if (!member.isPrimary && mode === 'primary') throw new CommandError({ code: 13435, message: 'not primary and secondaryOk=false' })
}

function matching (collection: Map<IdKey, Stored>, filter: Document): Stored[] {
  const { _id: condition, $nor, ...others } = filter
  const operators = Object.keys(condition ?? {}).filter(name => name.startsWith('$'))
  const isKnown = $nor === undefined
    ? operators.every(name => name in comparisons) || operators.join() === '$in'
    : condition === undefined && $nor.length === 1
  // Silently misreading a filter would falsify a test.
  if (Object.keys(others).length > 0 || !isKnown) throw new CommandError({ code: 2, message: 'only filters by _id, by $in or by $gt, $gte and $lte on it, or $nor of one of these, are supported' })
  if ($nor !== undefined) {
    const excluded = new Set(matching(collection, $nor[0]))
    return [...collection.values()].filter(stored => !excluded.has(stored))
  }
  if (condition === undefined) return [...collection.values()]
  if (operators.length > 0 && condition.$in === undefined) {
    const tests = operators.map(name => ({ compare: comparisons[name]!, operand: idKey(condition[name]) }))
    return [...collection.values()].filter(({ key }) => tests.every(({ compare, operand }) => compare(key, operand)))
  }
  const ids: unknown[] = condition.$in ?? [condition]
  return [...new Set(ids.map(idKey))].flatMap(key => collection.get(key) ?? [])
}

/** As on a real server, a comparison with a number selects only numbers. */
const comparisons: Readonly<Record<string, (key: IdKey, operand: IdKey) => boolean>> = {
  $gt: (key, operand) => typeof key === typeof operand && key > operand,
  $gte: (key, operand) => typeof key === typeof operand && key >= operand,
  $lte: (key, operand) => typeof key === typeof operand && key <= operand
}
