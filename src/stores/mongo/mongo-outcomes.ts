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

// The codes: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml

export const DUPLICATE_KEY = 11000

/** After these, by the server's categories, a plant may have been stored, or another attempt may store it. */
const OPEN = new Set([
  // NetworkError: HostUnreachable, HostNotFound, NetworkTimeout, SocketException
  6, 7, 89, 9001,
  // NotPrimaryError: PrimarySteppedDown, NotWritablePrimary, InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk,
  // NotPrimaryOrSecondary
  189, 10107, 11602, 13435, 13436,
  // ShutdownError: ShutdownInProgress, InterruptedAtShutdown
  91, 11600,
  // RetriableError: ReadConcernMajorityNotAvailableYet, ResourceExhausted,
  // PooledConnectionAcquisitionExceededTimeLimit, RetriableRemoteCommandFailure
  134, 402, 407, 91331,
  // Interruption: LockTimeout, CursorKilled, ClientDisconnect, InterruptedDueToStorageChange,
  // InterruptedDueToReshardingCriticalSection, Interrupted, ClientMarkedKilled, InterruptedDueToFCVChange
  24, 237, 279, 355, 453, 11601, 46841, 10045600,
  // ExceededTimeLimitError: MaxTimeMSExpired, NetworkInterfaceExceededTimeLimit, ExceededTimeLimit,
  // TransactionExceededLifetimeLimitSeconds
  50, 202, 262, 290,
  // WriteConcernError: WriteConcernTimeout, WriteConcernLegacyOK, UnknownReplWriteConcern, UnsatisfiableWriteConcern
  64, 75, 79, 100,
  // StaleShardVersionError: StaleEpoch, StaleConfig
  150, 13388,
  // SystemOverloadedError: AdmissionQueueOverflow, RateLimitExceeded, PooledConnectionAcquisitionRejected,
  // IngressRequestRateLimitExceeded
  433, 449, 450, 462,
  // In conflict with another operation: LockBusy, WriteConflict, StaleDbVersion, TemporarilyUnavailable
  46, 112, 249, 365,
  // The server's own failures: InternalError, UnknownError, OperationFailed, CommandFailed
  1, 8, 96, 125
])

/** No fault of the plant that is refused. */
const OF_THE_STORE = new Set([
  // Rights: Unauthorized, AuthenticationFailed
  13, 18,
  // The namespace: IllegalOperation, NamespaceNotFound, InvalidNamespace, CommandNotSupportedOnView, DatabaseDifferCase
  20, 26, 73, 166, 13297,
  // Writes are blocked: UserWritesBlocked, AtlasError (a quota), OutOfDiskSpace
  371, 8000, 14031
])

/** The largest document that MongoDB takes: `maxBsonObjectSize` of its `hello`. */
const LARGEST_DOCUMENT = 16 * 1024 * 1024

/** What the response to an insert says. */
export interface Evidence {
  /** The plants with an error, by their index in the batch. */
  readonly errors: ReadonlyMap<number, WriteError>
  /** Why a plant without an error may not be stored. */
  readonly doubt: PlantOutcomeUnknown | undefined
}

/** Reads the response to the insert of a number of plants: https://www.mongodb.com/docs/manual/reference/command/insert/#output */
export function evidenceOf (reply: unknown, sent: number): Evidence {
  const { n, writeErrors, writeConcernError }: InsertReply = isObject(reply) ? reply : {}
  const errors = new Map<number, WriteError>()
  for (const error of Array.isArray(writeErrors) ? writeErrors : []) {
    const index = Number(error?.index)
    if (Number.isInteger(index) && index >= 0 && index < sent) errors.set(index, error)
  }
  return { errors, doubt: doubtOf(writeConcernError) ?? miscount(n, errors.size, sent) }
}

interface InsertReply {
  n?: unknown
  writeErrors?: WriteError[]
  writeConcernError?: { code: number, codeName?: string }
}

function doubtOf (error: InsertReply['writeConcernError']): PlantOutcomeUnknown | undefined {
  return error && new PlantOutcomeUnknown(`MongoDB: write concern ${describe(error)}`)
}

/** @param n how many documents were inserted: a number, or an Int32, a Long or a Double of BSON */
function miscount (n: unknown, errors: number, sent: number): PlantOutcomeUnknown | undefined {
  const inserted = typeof n === 'number' || typeof n === 'bigint' || isObject(n) ? Number(n) : NaN
  if (inserted + errors === sent) return undefined
  const counted = Number.isNaN(inserted) ? 'an unknown number' : inserted
  return new PlantOutcomeUnknown(`MongoDB: the response to an insert of ${sent} counts ${counted} inserted, and ${errors} errors`)
}

function isObject (value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Why the store refused every plant of a batch; undefined if it did not. */
export function refusalOfTheStore ({ errors }: Evidence, sent: number): CreateError | undefined {
  const [first] = errors.values()
  if (first === undefined || errors.size < sent) return undefined
  const isOfTheStore = [...errors.values()].every(({ code }) => OF_THE_STORE.has(code))
  return isOfTheStore ? writeFailure(first) : undefined
}

/** The id in decimal digits, also if another program wrote it as a double, which `String` would round. */
export function idOf ({ _id }: ExistingDocument): string {
  return String(Number.isInteger(_id) ? BigInt(Number(_id)) : _id)
}

/** The outcome of a plant that an index of the collection refused as a duplicate. */
export function duplicateOutcome (
  { id, name, tag }: NewPlant, documents: ReadonlyMap<string, ExistingDocument>, index: object = { _id: 1 }
): WriteResult {
  const existing = documents.get(String(id))
  if (existing !== undefined) {
    const isSame = existing.name === name && existing.tag === tag
    return isSame ? 'same' : 'taken'
  }
  if (!('_id' in index)) return refusal('MongoDB: another unique index of the collection refuses it')
  // A failover may still roll it back.
  return new PlantOutcomeUnknown('MongoDB: a plant with this id exists, but not on the majority yet')
}

/** Why a plant of a batch was not stored, or may not have been. */
export function writeFailure (error: WriteError): CreateError {
  const reason = `MongoDB: write ${describe(error)}`
  return isRefusal(error) ? refusal(reason) : new PlantOutcomeUnknown(reason)
}

/**
 * Why a whole batch was not stored, or may not have been.
 * @param isUnsent whether no part of it left this process
 */
export function commandFailure (error: DriverError, isUnsent: boolean): CreateError {
  const reason = faultOf(error)
  // Every server may refuse the handshake, as of an unknown user.
  const errors = serversOf(error)?.map(({ error }) => error ?? {}) ?? [error]
  if (errors.length > 0 && errors.every(isRefusal)) return refusal(reason)
  if (error.errorLabels?.includes('NoWritesPerformed')) return new PlantNotStored(reason)
  const wasNotSent = isUnsent || error.name === 'MongoServerSelectionError'
  return wasNotSent && !wasSilent(error) ? new PlantNotStored(reason) : new PlantOutcomeUnknown(reason)
}

/** Whether the server refused it for good: nothing was stored, nor would be by another attempt. */
function isRefusal ({ code, errorLabels = [] }: { code?: number | string, errorLabels?: readonly string[] }): boolean {
  if (errorLabels.some(label => /^(?:Retryable|SystemOverloaded)/.test(label))) return false
  return Number.isInteger(Number(code)) && !OPEN.has(Number(code)) && code !== DUPLICATE_KEY
}

/** Why no attempt can send a plant. */
export function unsendable (error: Error): PlantNotStored {
  return refusal(`MongoDB: it cannot be sent: ${error.message}`)
}

/** Why a plant is too large for a document; undefined if it is not. */
export function tooLarge (plant: NewPlant): PlantNotStored | undefined {
  const { name, tag } = plant
  // A character takes 3 bytes at most: a document that is far from the limit is not measured.
  const mayBeTooLarge = (name.length + (tag?.length ?? 0)) * 3 > LARGEST_DOCUMENT / 2
  const bytes = mayBeTooLarge ? documentBytes(plant) : 0
  if (bytes <= LARGEST_DOCUMENT) return undefined
  return refusal(`MongoDB: its document would have ${bytes} bytes, and MongoDB takes ${LARGEST_DOCUMENT} at most`)
}

/** The size of `{ _id: Long, name, tag? }`: 29 bytes with an empty name, and 10 for an empty tag (https://bsonspec.org). */
function documentBytes ({ name, tag }: NewPlant): number {
  const bytes = 29 + Buffer.byteLength(name)
  return tag === undefined ? bytes : bytes + 10 + Buffer.byteLength(tag)
}

function refusal (reason: string): PlantNotStored {
  return new PlantNotStored(reason, { permanent: true })
}
