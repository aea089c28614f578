import type { CreateError, WriteResult } from '../batching/store-writer.js'
import { PlantNotStored, PlantOutcomeUnknown, type NewPlant } from '../store.js'
import { describe, faultOf, isOfServer, serversOf, wasSilent, type DriverError } from './mongo-errors.js'

/** The response to an insert: https://www.mongodb.com/docs/manual/reference/command/insert/#output */
export interface InsertReply {
  /** How many documents were inserted: a number, or an Int32, a Long or a Double of BSON. */
  n?: unknown
  writeErrors?: readonly WriteError[]
  writeConcernError?: { code: number, codeName?: string }
}

/** Not every server names the index of a duplicate key. */
interface WriteError { index: number, code: number, codeName?: string, keyPattern?: object }

/** A document with a plant's id, as another program may have written it. */
export interface ExistingDocument { _id: unknown, name?: unknown, tag?: unknown }

/** The errors of plants, by their index in the batch, and why a plant without an error may not be stored. */
interface Evidence { errors: ReadonlyMap<number, WriteError>, doubt: PlantOutcomeUnknown | undefined }

// The codes: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml

export const DUPLICATE_KEY = 11000

/** After these, by the server's categories, a plant may have been stored, or another attempt may store it. */
const OPEN = codes(
  /* NetworkError */ { HostUnreachable: 6, HostNotFound: 7, NetworkTimeout: 89, SocketException: 9001 },
  /* NotPrimaryError */ { PrimarySteppedDown: 189, NotWritablePrimary: 10107, InterruptedDueToReplStateChange: 11602 },
  { LegacyNotPrimary: 10058, NotPrimaryNoSecondaryOk: 13435, NotPrimaryOrSecondary: 13436 },
  /* a shard without a primary, of mongos */ { FailedToSatisfyReadPreference: 133 },
  /* ShutdownError */ { ShutdownInProgress: 91, InterruptedAtShutdown: 11600 },
  /* RetriableError */ { ReadConcernMajorityNotAvailableYet: 134, ResourceExhausted: 402 },
  { PooledConnectionAcquisitionExceededTimeLimit: 407, RetriableRemoteCommandFailure: 91331 },
  /* Interruption */ { LockTimeout: 24, CursorKilled: 237, ClientDisconnect: 279, Interrupted: 11601 },
  { InterruptedDueToStorageChange: 355, InterruptedDueToReshardingCriticalSection: 453, ClientMarkedKilled: 46841 },
  { InterruptedDueToFCVChange: 10045600 },
  /* ExceededTimeLimitError */ { MaxTimeMSExpired: 50, NetworkInterfaceExceededTimeLimit: 202, ExceededTimeLimit: 262 },
  { TransactionExceededLifetimeLimitSeconds: 290 },
  /* WriteConcernError */ { WriteConcernTimeout: 64, WriteConcernLegacyOK: 75, UnknownReplWriteConcern: 79 },
  { UnsatisfiableWriteConcern: 100 },
  /* StaleShardVersionError */ { StaleEpoch: 150, StaleConfig: 13388 },
  /* SystemOverloadedError */ { AdmissionQueueOverflow: 433, RateLimitExceeded: 449 },
  { PooledConnectionAcquisitionRejected: 450, IngressRequestRateLimitExceeded: 462 },
  /* in conflict */ { LockBusy: 46, WriteConflict: 112, StaleDbVersion: 249, TemporarilyUnavailable: 365 },
  /* the server's own failures */ { InternalError: 1, UnknownError: 8, OperationFailed: 96, CommandFailed: 125 }
)

/** No fault of the plant that is refused. */
const OF_THE_STORE = codes(
  /* rights */ { Unauthorized: 13, AuthenticationFailed: 18 },
  /* the namespace */ { IllegalOperation: 20, NamespaceNotFound: 26, InvalidNamespace: 73 },
  { CommandNotSupportedOnView: 166, DatabaseDifferCase: 13297 },
  /* writes are blocked, or a quota */ { UserWritesBlocked: 371, AtlasError: 8000, OutOfDiskSpace: 14031 }
)

function codes (...byName: Record<string, number>[]): Set<number> {
  return new Set(byName.flatMap(codes => Object.values(codes)))
}

/** Bytes that MongoDB takes: `maxBsonObjectSize` of its `hello`. */
const LARGEST_DOCUMENT = 16 * 1024 * 1024

export function evidenceOf ({ n, writeErrors = [], writeConcernError }: InsertReply, sent: number): Evidence {
  const errors = new Map<number, WriteError>()
  for (const error of writeErrors) {
    const { index } = error
    if (Number.isInteger(index) && index >= 0 && index < sent) errors.set(index, error)
  }
  let doubt: string | undefined
  if (writeConcernError !== undefined) doubt = `write concern ${describe(writeConcernError)}`
  else if (Number(n) + errors.size !== sent) doubt = `the response counts ${n} of ${sent} inserted, ${errors.size} errors`
  return { errors, doubt: doubt === undefined ? undefined : new PlantOutcomeUnknown(`MongoDB: ${doubt}`) }
}

/** Why the store refused every plant of a batch; undefined if it did not. */
export function refusalOfTheStore ({ errors }: Evidence, sent: number): CreateError | undefined {
  const [first] = errors.values()
  const areOfTheStore = [...errors.values()].every(({ code }) => OF_THE_STORE.has(code))
  return first !== undefined && errors.size === sent && areOfTheStore ? writeFailure(first) : undefined
}

/** The id in decimal digits, also if another program wrote it as a double, which `String` would round. */
export function idOf ({ _id }: ExistingDocument): string {
  return String(Number.isInteger(_id) ? BigInt(Number(_id)) : _id)
}

/**
 * The outcome of a plant that an index of the collection refused as a duplicate.
 * @param existing the document with its id, if there is one
 */
export function duplicateOutcome (plant: NewPlant, existing?: ExistingDocument, index?: object): WriteResult {
  if (existing !== undefined) return existing.name === plant.name && existing.tag === plant.tag ? 'same' : 'taken'
  if (index !== undefined && !('_id' in index)) return refusal('MongoDB: another unique index of the collection refuses it')
  // A failover may still roll it back.
  return new PlantOutcomeUnknown('MongoDB: a plant with this id exists, but not on the majority yet')
}

export function writeFailure (error: WriteError): CreateError {
  const reason = `MongoDB: write ${describe(error)}`
  return isRefusal(error) ? refusal(reason) : new PlantOutcomeUnknown(reason)
}

/**
 * Why a whole batch was not stored, or may not have been.
 * @param wasSent whether a part of it may have left this process
 */
export function commandFailure (error: DriverError, wasSent: boolean): CreateError {
  const reason = faultOf(error)
  // Every server may refuse the handshake, as of an unknown user.
  const errors = serversOf(error)?.map(({ error }) => error) ?? [error]
  if (errors.length > 0 && errors.every(isRefusalOfServer)) return refusal(reason)
  // Such as the one that compresses commands as the URL demands: no command leaves this process without it.
  if (error.name === 'MongoMissingDependencyError') return refusal(reason)
  if (error.errorLabels?.includes('NoWritesPerformed')) return new PlantNotStored(reason)
  const isUnsent = !wasSent || error.name === 'MongoServerSelectionError'
  return isUnsent && !wasSilent(error) ? new PlantNotStored(reason) : new PlantOutcomeUnknown(reason)
}

/** Whether a server refused a command for good. Other errors have codes too, such as that of an `AbortSignal`. */
function isRefusalOfServer (error: DriverError | null): boolean {
  return error !== null && isOfServer(error) && isRefusal(error)
}

/** Whether it was refused for good: nothing was stored, nor would be by another attempt. */
function isRefusal ({ code, errorLabels = [] }: Pick<DriverError, 'code' | 'errorLabels'>): boolean {
  if (errorLabels.some(label => /^(?:Retryable|SystemOverloaded)/.test(label))) return false
  return typeof code === 'number' && code > 0 && !OPEN.has(code) && code !== DUPLICATE_KEY
}

/** Why a plant is too large for a document (https://bsonspec.org); undefined if it is not. */
export function refusalOfSize ({ name, tag }: NewPlant): PlantNotStored | undefined {
  const bytes = 29 + Buffer.byteLength(name) + (tag === undefined ? 0 : 10 + Buffer.byteLength(tag))
  if (bytes <= LARGEST_DOCUMENT) return undefined
  return refusal(`MongoDB: its document would have ${bytes} bytes, and MongoDB takes ${LARGEST_DOCUMENT} at most`)
}

function refusal (reason: string): PlantNotStored {
  return new PlantNotStored(reason, { permanent: true })
}
