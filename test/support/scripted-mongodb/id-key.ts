import { Double, EJSON, Int32, Long } from 'bson'

/** An `_id` as a key of a Map: integers of every BSON type as a bigint, exact over int64; all else as text. */
export type IdKey = bigint | string

/** The key under which an `_id` is unique. To a real server, too, 5, 5.0 and NumberLong(5) are the same id. */
export function idKey (id: unknown): IdKey {
  // Long.toBigInt() uses a decimal string, which would be most of the cost of an insert.
  if (Long.isLong(id)) return (BigInt(id.high) << 32n) | BigInt(id.low >>> 0)
  if (id instanceof Int32) return BigInt(id.value)
  if (id instanceof Double && Number.isInteger(id.value)) return BigInt(id.value)
  return EJSON.stringify(id)
}
