import { Decimal128, Double, EJSON, Int32, Long, type Document } from 'bson'
import { failed, type Failure, type Overrides } from './cues.js'
import type { StoredPlant } from './scripted-mongo.js'
import type { Request } from './wire.js'

const DUPLICATE_KEY = 11000
/** Small, so that a test needs few plants for several batches. */
const BATCH_SIZE = 1_000
/** As on a real server, of a query that asks for no size. */
const FIRST_BATCH_SIZE = 101
/** What the driver's `countDocuments` sends. */
const COUNT = '[{"$match":{}},{"$group":{"_id":1,"n":{"$sum":1}}}]'

/** An `_id` as a key of a Map: integers of every BSON type as a bigint, exact over int64; all but numbers as text. */
type IdKey = bigint | number | string

/** A stored document, and whether the majority of the members has it. */
interface Stored {
  readonly key: IdKey
  readonly document: Document
  committed: boolean
}

type Collection = Map<IdKey, Stored>

/** The documents, and the commands on them. A write that is replicated includes every write before it. */
export class Documents {
  readonly #collections = new Map<string, Collection>()
  #uncommitted: Stored[] = []
  /** The result sets that are not read to the end, with the last document that was. */
  readonly #cursors = new Map<number, { find: Request, last: IdKey }>()
  #lastCursor = 0

  /** The plants of all databases by id, or those of them that the majority has. */
  plants ({ committed: onlyCommitted = false } = {}): Map<bigint, StoredPlant> {
    const stored = [...this.#collections.values()].flatMap(collection => [...collection.values()])
    return new Map(stored.filter(({ committed }) => committed || !onlyCommitted)
      .map(({ key, document: { _id, ...plant } }) => [key as bigint, plant as StoredPlant]))
  }

  /** Executes a command, and returns the answer; throws if it misses a feature. */
  execute (request: Request, overrides: Overrides): Document {
    const { command, body } = request
    if (command === 'insert') return this.#insert(request, overrides)
    // The store updates nothing: it checks whether it may write.
    if (command === 'update') return { n: 0, nModified: 0, ok: 1 }
    if (command === 'find' || command === 'getMore') return this.#batch(request)
    // Of the driver's `estimatedDocumentCount`.
    if (command === 'count') return { n: this.#read(request).length, ok: 1 }
    if (command === 'aggregate' && JSON.stringify(body['pipeline']) === COUNT) {
      return { cursor: { id: 0n, ns: 'all', firstBatch: [{ n: this.#read(request).length }] }, ok: 1 }
    }
    return failed({ code: 59, message: `not supported: ${command}` })
  }

  #insert ({ body, database, documents }: Request, { fault, replicated = true }: Overrides): Document {
    const namespace = `${database}.${body['insert']}`
    const writeErrors: Document[] = []
    let n = 0
    for (const [index, document] of documents.entries()) {
      const failure = fault?.(index)
      if (failure === undefined && this.#store(namespace, document)) n++
      else writeErrors.push({ index, ...(failure === undefined ? duplicate(namespace, document) : scripted(failure)) })
      if (writeErrors.length > 0 && body['ordered'] !== false) break
    }
    if (replicated) for (const stored of this.#uncommitted.splice(0)) stored.committed = true
    return { n, ...(writeErrors.length > 0 && { writeErrors }), ok: 1 }
  }

  /** Stores a document on the primary only; returns false if its id is taken. */
  #store (namespace: string, document: Document): boolean {
    const collection = this.#collection(namespace)
    const key = idKey(document['_id'])
    if (collection.has(key)) return false
    const stored: Stored = { key, document, committed: false }
    collection.set(key, stored)
    this.#uncommitted.push(stored)
    return true
  }

  /** As on a real server, a result set includes documents that are inserted ahead of the last batch. */
  #batch (request: Request): Document {
    const { command, body, database } = request
    const id = Number(body['getMore'] ?? ++this.#lastCursor)
    const { find, last } = command === 'find' ? { find: request } : this.#cursors.get(id) ?? {}
    if (find === undefined) return failed({ code: 43, message: `cursor id ${id} not found` })
    const found = this.#read(find)
    const from = last === undefined ? 0 : found.findIndex(({ key }) => key === last) + 1
    const size = Number(body['batchSize'] ?? (command === 'find' ? FIRST_BATCH_SIZE : BATCH_SIZE))
    const batch = found.slice(from, from + Math.min(size, BATCH_SIZE))
    const end = batch.at(-1)
    const isOpen = end !== undefined && from + batch.length < found.length && find.body['singleBatch'] !== true
    if (isOpen) this.#cursors.set(id, { find, last: end.key })
    else this.#cursors.delete(id)
    const projection = find.body['projection']
    const isRead = ([field]: [string, unknown]) => projection === undefined || field === '_id' || field in projection
    const documents = batch.map(({ document }) => Object.fromEntries(Object.entries(document).filter(isRead)))
    const name = last === undefined ? 'firstBatch' : 'nextBatch'
    const ns = `${database}.${find.body['find']}`
    return { cursor: { id: Long.fromNumber(isOpen ? id : 0), ns, [name]: documents }, ok: 1 }
  }

  /** The documents that a filter on `_id` selects, optionally sorted by id. */
  #read ({ command, database, body }: Request): Stored[] {
    const { filter = {}, sort, limit, readConcern } = body
    const found = matching(this.#collection(`${database}.${body[command]}`), filter)
      .filter(({ committed }) => committed || readConcern?.level !== 'majority')
    const direction = Number(sort?._id ?? 0)
    if (direction !== 0) found.sort(({ key: left }, { key: right }) => isBefore(left, right) ? -direction : direction)
    return found.slice(0, Number(limit ?? 0) || Infinity)
  }

  #collection (namespace: string): Collection {
    const collection = this.#collections.get(namespace) ?? new Map()
    this.#collections.set(namespace, collection)
    return collection
  }
}

function duplicate (namespace: string, { _id }: Document): Document {
  const errmsg = `E11000 duplicate key error collection: ${namespace} index: _id_ dup key: { _id: ${_id} }`
  return { code: DUPLICATE_KEY, errmsg, keyPattern: { _id: 1 }, keyValue: { _id } }
}

/** A scripted duplicate is that of another unique index. */
function scripted ({ code, codeName, message = 'scripted' }: Failure): Document {
  return { code, codeName, errmsg: message, ...(code === DUPLICATE_KEY && { keyPattern: { name: 1 } }) }
}

/** The key under which an `_id` is unique. To a real server, too, 5, 5.0 and NumberLong(5) are the same id. */
function idKey (id: unknown): IdKey {
  // Long.toBigInt() uses a decimal string, which would be most of the cost of an insert.
  if (Long.isLong(id)) return (BigInt(id.high) << 32n) | BigInt(id.low >>> 0)
  if (id instanceof Int32) return BigInt(id.value)
  if (id instanceof Double || id instanceof Decimal128) {
    const value = Number(String(id))
    if (Number.isInteger(value)) return BigInt(value)
    if (!Number.isNaN(value)) return value
  }
  return EJSON.stringify(id)
}

/** Numbers are before all else. */
function isBefore (left: IdKey, right: IdKey): boolean {
  if (isNumber(left) && isNumber(right)) return left < right
  return isNumber(left) !== isNumber(right) ? isNumber(left) : left < right
}

function isNumber (key: IdKey): key is bigint | number {
  return typeof key !== 'string'
}

function matching (collection: Collection, { _id, $nor, ...others }: Document): Stored[] {
  // Silently misreading a filter would falsify a test.
  if (Object.keys(others).length > 0) throw new Error('this filter is not supported')
  if (_id?.$in !== undefined) return [...new Set<IdKey>(_id.$in.map(idKey))].flatMap(key => collection.get(key) ?? [])
  const all = [...collection.values()]
  if ($nor !== undefined) {
    const excluded = new Set(matching(collection, $nor[0]))
    return all.filter(stored => !excluded.has(stored))
  }
  if (_id === undefined) return all
  const operators = Object.entries(_id).filter(([name]) => name.startsWith('$'))
  if (operators.length === 0) return [collection.get(idKey(_id)) ?? []].flat()
  return operators.reduce((found, [name, operand]) => found.filter(selects(name, operand)), all)
}

/** As on a real server, a comparison with a number selects only numbers, by their value. */
function selects (operator: string, operand: any): (stored: Stored) => boolean {
  const limit = idKey(operand)
  if (!isNumber(limit)) throw new Error('a comparison with this is not supported')
  switch (operator) {
    case '$gt': return ({ key }) => isNumber(key) && key > limit
    case '$gte': return ({ key }) => isNumber(key) && key >= limit
    case '$lte': return ({ key }) => isNumber(key) && key <= limit
    default: throw new Error(`the operator ${operator} is not supported`)
  }
}
