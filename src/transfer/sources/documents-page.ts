import { BSON, Long, type Document } from 'mongodb'
import type { NewPlant } from '../../stores/plant-store.js'
import { SourcePage } from './plant-source.js'

/** A numeric id, as the driver takes it or returns it. */
export type NumericId = bigint | number | Long

/** A page of MongoDB documents. They are decoded one by one, so that the id of an invalid document can be reported. */
export class DocumentsPage extends SourcePage {
  /** The last numeric id of the page. */
  lastId: NumericId | undefined

  addDocument (bytes: Uint8Array): void {
    const { document, isUtf8 } = decode(bytes)
    if (Long.isLong(document._id) || typeof document._id === 'number') this.lastId = document._id
    const plant = isUtf8 ? plantOf(document) : 'its name or tag is not UTF-8 text'
    if (typeof plant !== 'string') this.add(plant)
    else this.invalid.push({ place: `id ${BSON.EJSON.stringify(document._id)}`, reason: plant })
  }
}

function decode (bytes: Uint8Array): { document: Document, isUtf8: boolean } {
  // An int64 becomes a number if it fits exactly, otherwise a Long.
  const options = { promoteValues: true, promoteLongs: true }
  try {
    return { document: BSON.deserialize(bytes, { ...options, validation: { utf8: true } }), isUtf8: true }
  } catch {
    return { document: BSON.deserialize(bytes, { ...options, validation: { utf8: false } }), isUtf8: false }
  }
}

/** Returns the plant of a document, or why it is not a plant. */
function plantOf ({ _id, name, tag }: Document): NewPlant | string {
  const id = int64(_id)
  if (id === undefined) return 'its _id is not an integer of int64'
  if (typeof name !== 'string') return 'its name is not a string'
  if (tag === undefined) return { id, name }
  return typeof tag === 'string' ? { id, name, tag } : 'its tag is not a string'
}

function int64 (id: unknown): bigint | undefined {
  const integer = Long.isLong(id) ? id.toBigInt() : Number.isInteger(id) ? BigInt(Number(id)) : undefined
  return integer !== undefined && BigInt.asIntN(64, integer) === integer ? integer : undefined
}
