import { Decimal128, Double, Int32, type Document } from 'mongodb'
import { mongoPlantStore } from '../../src/index.js'
import { describe, failureOf, find, insert, responseOf, type Behaviour, type Server } from './behaviour.js'

// How the server treats ids, asked with the driver alone.

/** By the name of the BSON type, the id 5. */
const FIVES: Record<string, unknown> = {
  int32: new Int32(5), double: new Double(5), Decimal128: Decimal128.fromString('5'), string: '5'
}

/** By the driver's name of a BSON type, that of MongoDB's documentation. */
const TYPES: Record<string, string> = { Int32: 'int32', Long: 'int64', Double: 'double', Decimal128: 'Decimal128' }

/** Their order as texts, and in the 32 lower bits, is another one. */
const IN_ORDER = [-(2n ** 40n), -3n, 2n, 9n, 10n, 100n, 2n ** 32n + 1n, 2n ** 53n + 1n]

export const idBehaviours: readonly Behaviour[] = [
  { name: 'a small int64 id comes back as', observe: server => typeOf(server, 1n) },
  { name: 'a large int64 id comes back as', observe: server => typeOf(server, 2n ** 63n - 1n) },
  { name: 'ids that are the same as the int64 5', observe: sameIds },
  { name: 'create, if the id is there as a double', observe: server => createBeside(server, new Double(6)) },
  { name: 'create, if it is there as a Decimal128', observe: createBesideDecimal },
  { name: 'order by `_id`', observe: server => order(server, {}) },
  { name: 'order by `_id`, in a range of it', observe: server => order(server, { _id: { $gt: -(2n ** 41n) } }) }
]

async function typeOf ({ database }: Server, id: bigint): Promise<string> {
  const collection = `plants_${id}`
  const response = await responseOf(database, { insert: collection, documents: [{ _id: id, name: 'Ficus' }] })
  const [document] = await find(database, collection, {}, { promoteValues: false, useBigInt64: false })
  const found: unknown = document?._id
  if (found === undefined) return `nothing (${describe(response)})`
  const type = TYPES[(found as Document)._bsontype] ?? typeof found
  return String(found) === String(id) ? type : `${type}, ${found}`
}

/** Stores the id 5 as an int64, and then in other types: where the server refuses it as a duplicate, it is the same. */
async function sameIds ({ database, hasDecimal128 }: Server): Promise<string> {
  await insert(database, 'plants_of_types', [{ _id: 5n }])
  const same: string[] = []
  const different: string[] = []
  const faults: string[] = []
  for (const [type, id] of Object.entries(FIVES)) {
    if (type === 'Decimal128' && !hasDecimal128) continue
    const response = await responseOf(database, { insert: 'plants_of_types', documents: [{ _id: id }] })
    const code = response.writeErrors?.[0]?.code ?? response.code
    if (code === 11000) same.push(type)
    else if (response.n === 1) different.push(type)
    else faults.push(`${type}: ${describe(response)}`)
  }
  return [`${same.join(', ') || 'none'}; not: ${different.join(', ') || 'none'}`, ...faults].join('; ')
}

async function createBesideDecimal (server: Server): Promise<string> {
  return server.hasDecimal128 ? createBeside(server, Decimal128.fromString('6')) : 'it has no Decimal128'
}

async function createBeside ({ database }: Server, id: Double | Decimal128): Promise<string> {
  const collection = `plants_beside_${id._bsontype}`
  await insert(database, collection, [{ _id: id, name: 'Ficus' }])
  const store = mongoPlantStore({ collection: database.collection(collection) })
  try {
    const deadline = performance.now() + 3_000
    const same = await store.create({ id: 6n, name: 'Ficus' }, deadline).catch(failureOf)
    const other = await store.create({ id: 6n, name: 'Fern' }, deadline).catch(failureOf)
    return `the same plant: ${same}; another: ${other}`
  } finally {
    await store.close?.()
  }
}

async function order ({ database }: Server, filter: Document): Promise<string> {
  const collection = Object.keys(filter).length === 0 ? 'plants_sorted' : 'plants_sorted_in_a_range'
  const byText = IN_ORDER.toSorted((left, right) => String(left) < String(right) ? -1 : 1)
  // Inserted neither by value nor as texts.
  const mixed = [...byText.slice(3), ...byText.slice(0, 3)]
  await insert(database, collection, mixed.map(_id => ({ _id })))
  const documents = await find(database, collection, { filter, sort: { _id: 1 } })
  const found = documents.map(({ _id }) => String(_id)).join()
  if (found === IN_ORDER.join()) return 'by value'
  return found === byText.join() ? 'as texts' : `neither by value nor as texts: ${found}`
}
