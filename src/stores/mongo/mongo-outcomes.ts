import type { CreateError, WriteResult } from '../batching/store-writer.js'
import { PlantNotStored, PlantOutcomeUnknown, type NewPlant } from '../../plant-store.js'
import { connectionFault, wasSilent, type DriverError } from './mongo-errors.js'

/** An element of `writeErrors` in the response to `insert`. */
export interface WriteError {
  index: number
  code: number
  errmsg: string
  /** The index of a duplicate key; not every server names it. */
  keyPattern?: object
}

/** A document with a plant's id, as another program may have written it. */
export interface ExistingDocument {
  _id: unknown
  name?: unknown
  tag?: unknown
}

// https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml
export const DUPLICATE_KEY = 11000
/**
 * Unauthorized, AuthenticationFailed and DocumentValidationFailure are permanent: nothing was written, and retrying
 * does not help.
 */
const REFUSALS = new Set([13, 18, 121])

/** The id in decimal digits, also if another program wrote it as a double, which `String` would round. */
export function idOf ({ _id }: ExistingDocument): string {
  return String(Number.isInteger(_id) ? BigInt(Number(_id)) : _id)
}

/** The outcome of a plant that an index of the collection refused as a duplicate. */
export function duplicateOutcome (
  { name, tag }: NewPlant, existing: ExistingDocument | undefined, index: object = { _id: 1 }
): WriteResult {
  if (existing !== undefined) return existing.name === name && existing.tag === tag ? 'same' : 'taken'
  if (!('_id' in index)) return new PlantNotStored('MongoDB: another unique index of the collection refuses it', { permanent: true })
  // A failover may still roll it back.
  return new PlantOutcomeUnknown('MongoDB: a plant with this id exists, but not on the majority yet')
}

/** Why a plant of a batch was not stored, or may not have been. */
export function writeFailure (error: WriteError): CreateError {
  const reason = `MongoDB: write error ${describe(error)}`
  return REFUSALS.has(error.code) ? new PlantNotStored(reason, { permanent: true }) : new PlantOutcomeUnknown(reason)
}

/** Why a whole batch was not stored, or may not have been. */
export function commandFailure (error: DriverError, isUnsent: boolean): CreateError {
  const reason = connectionFault(error)
  if (REFUSALS.has(Number(error.code))) return new PlantNotStored(reason, { permanent: true })
  const wasNotSent = isUnsent || error.name === 'MongoServerSelectionError'
  const isNotStored = error.errorLabels?.includes('NoWritesPerformed') === true || (wasNotSent && !wasSilent(error))
  return isNotStored ? new PlantNotStored(reason) : new PlantOutcomeUnknown(reason)
}

export function describe ({ code, errmsg }: { code: number, errmsg: string }): string {
  // The message of a duplicate key or of a validator contains the plant, which must not be logged.
  return REFUSALS.has(code) ? String(code) : `${code} (${errmsg})`
}
