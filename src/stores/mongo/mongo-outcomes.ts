import type { NewPlant } from '../../plant.js'
import type { CreateError, WriteResult } from '../batching/store-writer.js'
import { PlantNotStored, PlantOutcomeUnknown } from '../store.js'
import { isSamePlant, type ExistingPlants } from './existing-plants.js'
import { describe, isOfServer, nothingWasWritten, reasonOf, type DriverError } from './mongo-errors.js'

/** The response to an insert: https://www.mongodb.com/docs/manual/reference/command/insert/#output */
export interface InsertReply {
  /** How many documents were inserted: a number, or an Int32, a Long or a Double of BSON. */
  n?: unknown
  writeErrors?: readonly WriteError[]
  writeConcernError?: { code: number, codeName?: string }
}

/** Not every server names the index of a duplicate key. */
interface WriteError { index: number, code: number, codeName?: string, keyPattern?: object }

/** The errors of plants, by their index in the batch. */
type WriteErrors = ReadonlyMap<number, WriteError>

// The codes and their names: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml. A code that is
// not listed here leaves the outcome open: other servers that speak MongoDB's protocol have codes of their own.

const DUPLICATE_KEY = 11000

/** The plant is refused for good. */
const REFUSES_THE_PLANT = new Set(Object.values({
  BadValue: 2,
  DocumentValidationFailure: 121,
  BSONObjectTooLarge: 10334,
  // Of an index for places (2dsphere): a name is none.
  CannotExtractGeoKeys: 16755
}))

/** Every plant is refused for good. */
const REFUSES_EVERY_PLANT = new Set(Object.values({
  // Rights
  Unauthorized: 13,
  AuthenticationFailed: 18,
  // The namespace
  IllegalOperation: 20,
  NamespaceNotFound: 26,
  InvalidNamespace: 73,
  CommandNotSupportedOnView: 166,
  DatabaseDifferCase: 13297,
  // Blocked writes, a quota, a full disk
  UserWritesBlocked: 371,
  AtlasError: 8000,
  OutOfDiskSpace: 14031
}))

/** The driver cannot write the plant as BSON, because it is larger than any document. */
const CANNOT_BE_WRITTEN = ['RangeError', 'BSONError']

/** The response that an error contains or stands for; undefined if there is none. */
export function replyIn (error: DriverError, sent: number): InsertReply | undefined {
  // The driver throws a response with a write concern error. It contains the result of each plant.
  if (error.name === 'MongoWriteConcernError') return error.result as InsertReply
  if (error.code !== DUPLICATE_KEY) return undefined
  // Of some servers a duplicate is the error of the command, which does not tell which plant it is.
  const writeErrors = Array.from({ length: sent }, (_, index) => ({ index, code: DUPLICATE_KEY }))
  return { n: 0, writeErrors }
}

/** What an insert without a response means: the plants' results, or why none of them is stored, or may be. */
export function outcomeOfFailure (error: DriverError, sent: number): readonly WriteResult[] | CreateError {
  const reason = reasonOf(error)
  const code = isOfServer(error) ? Number(error.code) : undefined
  if (code !== undefined && REFUSES_EVERY_PLANT.has(code)) return refusal(reason)
  const refusesOne = code !== undefined && REFUSES_THE_PLANT.has(code)
  if (refusesOne || CANNOT_BE_WRITTEN.includes(error.name)) {
    // Of several plants, it does not tell which one it is.
    return sent === 1 ? [refusal(reason)] : new PlantNotStored(reason)
  }
  return nothingWasWritten(error) ? new PlantNotStored(reason) : new PlantOutcomeUnknown(reason)
}

/**
 * The results of plants by the server's response; or why each of them was refused, if that is for no fault of theirs.
 * @param readExisting reads the documents with the ids of these plants, or returns why it cannot
 */
export async function outcomeOfReply (
  plants: readonly NewPlant[], reply: InsertReply,
  readExisting: (duplicates: readonly NewPlant[]) => Promise<ExistingPlants | PlantOutcomeUnknown>
): Promise<readonly WriteResult[] | CreateError> {
  const errors = errorsOf(reply, plants.length)
  const [first] = errors.values()
  const refuseEveryPlant = [...errors.values()].every(({ code }) => REFUSES_EVERY_PLANT.has(code))
  if (first !== undefined && errors.size === plants.length && refuseEveryPlant) return outcomeOfError(first)

  const doubt = doubtOf(reply, plants.length, errors)
  const duplicates = plants.filter((_plant, index) => errors.get(index)?.code === DUPLICATE_KEY)
  const existing = duplicates.length === 0 ? new Map() : await readExisting(duplicates)
  return plants.map((plant, index) => {
    const error = errors.get(index)
    if (error === undefined) return doubt ?? 'stored'
    if (error.code !== DUPLICATE_KEY) return outcomeOfError(error)
    return existing instanceof Error ? existing : outcomeOfDuplicate(plant, error, existing)
  })
}

function errorsOf ({ writeErrors = [] }: InsertReply, sent: number): WriteErrors {
  const isOfPlant = ({ index }: WriteError) => Number.isInteger(index) && index >= 0 && index < sent
  return new Map(writeErrors.filter(isOfPlant).map(error => [error.index, error]))
}

/** Why a plant without an error may not be stored; undefined if each is. */
function doubtOf ({ n, writeConcernError }: InsertReply, sent: number, errors: WriteErrors): CreateError | undefined {
  if (writeConcernError !== undefined) {
    return new PlantOutcomeUnknown(`MongoDB: write concern ${describe(writeConcernError)}`)
  }
  if (Number(n) + errors.size === sent) return undefined
  return new PlantOutcomeUnknown(`MongoDB: the response counts ${n} of ${sent} inserted, ${errors.size} errors`)
}

function outcomeOfError (error: WriteError): CreateError {
  const reason = `MongoDB: write ${describe(error)}`
  const isRefusal = REFUSES_THE_PLANT.has(error.code) || REFUSES_EVERY_PLANT.has(error.code)
  return isRefusal ? refusal(reason) : new PlantOutcomeUnknown(reason)
}

/** The outcome of a plant that an index of the collection refused as a duplicate. */
function outcomeOfDuplicate (plant: NewPlant, { keyPattern }: WriteError, found: ExistingPlants): WriteResult {
  const existing = found.get(plant.id)
  if (existing !== undefined) return isSamePlant(existing, plant) ? 'same' : 'taken'
  if (keyPattern !== undefined && !('_id' in keyPattern)) {
    return refusal('MongoDB: another unique index of the collection refuses it')
  }
  // A failover may still roll it back.
  return new PlantOutcomeUnknown('MongoDB: a plant with this id exists, but not on the majority yet')
}

function refusal (reason: string): PlantNotStored {
  return new PlantNotStored(reason, { permanent: true })
}
