import type { CreateError, WriteResult } from '../batching/store-writer.js'
import { PlantNotStored, PlantOutcomeUnknown, type NewPlant } from '../plant-store.js'
import { describe, faultOf, serversOf, wasSilent, type DriverError } from './mongo-errors.js'

/** An element of `writeErrors` in the response to `insert`. Not every server names the index of a duplicate key. */
export interface WriteError {
  index: number
  code: number
  codeName?: string
  keyPattern?: object
}

/** A document with a plant's id, as another program may have written it. */
export interface ExistingDocument { _id: unknown, name?: unknown, tag?: unknown }

// https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml
export const DUPLICATE_KEY = 11000
/** After these, by the server's categories, a plant may have been stored, or another attempt may store it. */
const OPEN = new Set([
  6, 7, 89, 9001, /* NetworkError */ 91, 134, 189, 402, 407, 10107, 11600, 11602, 13435, 13436, /* RetriableError */
  24, 237, 279, 290, 355, 453, 11601, 91331, /* Interruption */ 50, 202, 262, /* ExceededTimeLimitError */
  64, 75, 79, 100, /* WriteConcernError */ 150, 13388, /* StaleShardVersionError */ 433, 449, 450, 462, /* overloaded */
  46, 112, 249, 365, /* in conflict with another operation */ 1, 8, 96, 125 /* the server's own failures */
])
/** Rights, the namespace, blocked writes, a quota, a full disk: no fault of the plant that is refused. */
export const OF_THE_STORE = new Set([13, 18, 20, 26, 73, 166, 371, 8000, 13297, 14031])

/** The id in decimal digits, also if another program wrote it as a double, which `String` would round. */
export function idOf ({ _id }: ExistingDocument): string {
  return String(Number.isInteger(_id) ? BigInt(Number(_id)) : _id)
}

/** The outcome of a plant that an index of the collection refused as a duplicate. */
export function duplicateOutcome (
  { id, name, tag }: NewPlant, documents: ReadonlyMap<string, ExistingDocument>, index: object = { _id: 1 }
): WriteResult {
  const existing = documents.get(String(id))
  if (existing !== undefined) return existing.name === name && existing.tag === tag ? 'same' : 'taken'
  if (!('_id' in index)) return new PlantNotStored('MongoDB: another unique index of the collection refuses it', { permanent: true })
  // A failover may still roll it back.
  return new PlantOutcomeUnknown('MongoDB: a plant with this id exists, but not on the majority yet')
}

/** Why a plant of a batch was not stored, or may not have been. */
export function writeFailure (error: WriteError): CreateError {
  const reason = `MongoDB: write ${describe(error)}`
  return isRefusal(error) ? new PlantNotStored(reason, { permanent: true }) : new PlantOutcomeUnknown(reason)
}

/** Why a whole batch was not stored, or may not have been. */
export function commandFailure (error: DriverError, isUnsent: boolean): CreateError {
  const reason = faultOf(error)
  // Every server may refuse the handshake, as of an unknown user.
  const errors = serversOf(error)?.map(({ error }) => error ?? {}) ?? [error]
  if (errors.length > 0 && errors.every(isRefusal)) return new PlantNotStored(reason, { permanent: true })
  const wasNotSent = isUnsent || error.name === 'MongoServerSelectionError'
  const isNotStored = error.errorLabels?.includes('NoWritesPerformed') || (wasNotSent && !wasSilent(error))
  return isNotStored ? new PlantNotStored(reason) : new PlantOutcomeUnknown(reason)
}

/** Whether the server refused it for good: nothing was stored, nor would be by another attempt. */
function isRefusal ({ code, errorLabels = [] }: { code?: number | string, errorLabels?: readonly string[] }): boolean {
  if (errorLabels.some(label => /^(?:Retryable|SystemOverloaded)/.test(label))) return false
  return Number.isInteger(Number(code)) && !OPEN.has(Number(code)) && code !== DUPLICATE_KEY
}
