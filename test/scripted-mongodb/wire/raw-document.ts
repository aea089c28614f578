import { deserialize, ObjectId, serialize, type Document } from 'bson'
import { idKey, type IdKey } from '../id-key.js'

const INT64 = 0x12
/** `_id` and its end, as a 32-bit integer. */
const ID_NAME = 0x0064695f

/** A document as it came over the wire, read when somebody looks: under load nobody does. */
export class RawDocument {
  #bytes: Buffer
  #at: number

  constructor (bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.#at = at
  }

  /** Gives it an `_id` where it has none, as the server does, and returns what it is unique under. */
  identify (): IdKey {
    const isInt64First = this.#bytes[this.#at + 4] === INT64 && this.#bytes.readUInt32LE(this.#at + 5) === ID_NAME
    if (isInt64First) return this.#bytes.readBigInt64LE(this.#at + 9)
    let document = this.read()
    if (document['_id'] === undefined) {
      document = { _id: new ObjectId(), ...document }
      this.#bytes = Buffer.from(serialize(document))
      this.#at = 0
    }
    return idKey(document['_id'])
  }

  read (): Document {
    return readDocument(this.#bytes, this.#at)
  }
}

/** Numbers are read as BSON objects (`Int32`, `Long`, `Double`); documents in a field `documents` are left as bytes. */
export function readDocument (bytes: Buffer, index: number): Document {
  return deserialize(bytes, { index, allowObjectSmallerThanBufferSize: true, promoteValues: false, fieldsAsRaw: { documents: true } })
}
