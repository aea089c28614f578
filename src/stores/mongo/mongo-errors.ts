import { messageOf } from '../../error-message.js'

/**
 * The driver's errors that matter here, by name: an error of another copy of the driver is not an instance of this
 * copy's classes. https://github.com/mongodb/node-mongodb-native/blob/main/src/error.ts
 */
interface DriverErrors {
  /** A command that the server refused; also an error response to the handshake of a connection. */
  MongoServerError: Error & { code?: number | string, errorLabels?: readonly string[] }
  /** The server executed the command, but its write concern is not satisfied; `result` is the server's response. */
  MongoWriteConcernError: Error & { result: object }
  /** No suitable server was found in time: nothing was sent. */
  MongoServerSelectionError: Error & { reason?: { servers: ReadonlyMap<string, ServerDescription> } }
  MongoNetworkTimeoutError: Error
  MongoWaitQueueTimeoutError: Error
}

interface ServerDescription {
  address: string
  type: string
  error: Error | null
}

export function isDriverError<Name extends keyof DriverErrors> (
  error: unknown, name: Name
): error is DriverErrors[Name] {
  return error instanceof Error && error.name === name
}

/** Why MongoDB was not reached, in one line: the error of each server. It contains hosts, never credentials. */
export function connectionFault (error: unknown): string {
  const message = messageOf(error)
  if (!isDriverError(error, 'MongoServerSelectionError') || error.reason === undefined) return `MongoDB: ${message}`
  const faults = [...error.reason.servers.values()].map(({ address, type, error }) => {
    if (error === null) return `${address} is ${type}`
    return error.message.includes(address) ? error.message : `${address}: ${error.message}`
  })
  return `MongoDB is not reachable: ${faults.join('; ') || message}`
}

/**
 * Whether MongoDB did not respond in time, rather than being known to be unreachable. It does not matter whether the
 * timeout was of the plant's own command or of a connection that had to be made first.
 */
export function wasSilent (error: unknown): boolean {
  if (isDriverError(error, 'MongoServerSelectionError')) {
    const servers = [...error.reason?.servers.values() ?? []]
    return servers.some(({ error, type }) => error === null ? type === 'Unknown' : isDriverError(error, 'MongoNetworkTimeoutError'))
  }
  return isDriverError(error, 'MongoNetworkTimeoutError') || isDriverError(error, 'MongoWaitQueueTimeoutError')
}
