import type { NewPlant } from '../../plant.js'
import type { MongoCollection } from './mongo-driver.js'

/** What another program may have written under the id of a plant. */
interface ExistingDocument { _id: unknown, name?: unknown, tag?: unknown }

/** The documents that the majority has, by the id that theirs equals. */
export type ExistingPlants = ReadonlyMap<bigint, Omit<ExistingDocument, '_id'>>

/**
 * How documents are decoded, whatever the client's own options are: as BSON's own types, so that a symbol is no string,
 * and with an error if text is not UTF-8, where it would be replaced.
 */
const EXACTLY = { raw: false, promoteValues: false, useBigInt64: false, enableUtf8Validation: true } as const

/** Reads the documents with these ids. Throws what the driver throws. */
export async function readExisting (
  plants: MongoCollection, ids: readonly bigint[], signal: AbortSignal
): Promise<ExistingPlants> {
  const options = {
    ...EXACTLY, projection: { name: 1, tag: 1 }, readPreference: 'primary', readConcern: 'majority', signal
  }
  try {
    const documents = await plants.find({ _id: { $in: ids } }, options).toArray() as ExistingDocument[]
    // MongoDB finds an equal `_id` of any numeric type.
    return new Map(documents.map(({ _id, ...fields }) => [int64Of(_id) as bigint, fields]))
  } catch (error) {
    // One of the documents has text that is not UTF-8: it is none of these plants.
    if ((error as Error).name !== 'BSONError') throw error
    const [id, ...others] = ids
    if (id !== undefined && others.length === 0) return new Map([[id, {}]])
    const found = await Promise.all(ids.map(id => readExisting(plants, [id], signal)))
    return new Map(found.flatMap(documents => [...documents]))
  }
}

export function isSamePlant ({ name, tag }: Omit<ExistingDocument, '_id'>, plant: NewPlant): boolean {
  // Other programs write `null` for no tag.
  return name === plant.name && (tag ?? undefined) === plant.tag
}

/** The int64 that an `_id` of one of BSON's numeric types equals; undefined if it equals none. */
export function int64Of (id: unknown): bigint | undefined {
  const integer = integerOf(id)
  return integer !== undefined && BigInt.asIntN(64, integer) === integer ? integer : undefined
}

function integerOf (id: unknown): bigint | undefined {
  const type = typeof id === 'object' && id !== null && '_bsontype' in id ? id._bsontype : undefined
  switch (type) {
    case 'Int32':
    case 'Long': return BigInt(String(id))
    case 'Double': return Number.isInteger(Number(id)) ? BigInt(Number(id)) : undefined
    case 'Decimal128': return integerOfDecimal(String(id))
    default: return undefined
  }
}

/** @param decimal such as `7.0`, `1E+1` or `NaN` */
function integerOfDecimal (decimal: string): bigint | undefined {
  const [matches, whole = '', fraction = '', exponent = '0'] = /^(-?\d+)(?:\.(\d+))?(?:E([+-]\d+))?$/.exec(decimal) ?? []
  if (matches === undefined) return undefined
  const digits = BigInt(whole + fraction)
  const zeros = Number(exponent) - fraction.length
  if (zeros >= 0) return digits * 10n ** BigInt(zeros)
  const divisor = 10n ** BigInt(-zeros)
  return digits % divisor === 0n ? digits / divisor : undefined
}
