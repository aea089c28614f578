import { messageOf } from '../../error-message.js'

// The driver's errors are identified by name, code and label: an error of another copy of the driver is not an instance
// of this copy's classes. https://github.com/mongodb/node-mongodb-native/blob/main/src/error.ts

interface ServerDescription {
  address: string
  type: string
  error: Error | null
}

interface SelectionError extends Error {
  reason?: { servers: ReadonlyMap<string, ServerDescription> } | undefined
}

/** A command that the server refused; also an error response to the handshake of a connection. */
export interface ServerError extends Error {
  code?: number | string
  errorLabels?: readonly string[]
}

/** The server executed the command, but its write concern is not satisfied. */
export interface WriteConcernError extends Error {
  /** The server's response. */
  result: object
}

/** Why MongoDB was not reached, in one line: the error of each server. It contains hosts, never credentials. */
export function connectionFault (error: unknown): string {
  const message = messageOf(error)
  if (!isSelectionError(error) || error.reason === undefined) return `MongoDB: ${message}`
  const faults = [...error.reason.servers.values()]
    .map(server => server.error === null ? `${server.address} is ${server.type}` : withAddress(server.address, server.error.message))
  return `MongoDB is not reachable: ${faults.length > 0 ? faults.join('; ') : message}`
}

function withAddress (address: string, message: string): string {
  return message.includes(address) ? message : `${address}: ${message}`
}

/**
 * Whether MongoDB did not respond in time, rather than being known to be unreachable. It does not matter whether the
 * timeout was of the plant's own command or of a connection that had to be made first.
 */
export function wasSilent (error: unknown): boolean {
  if (!isSelectionError(error)) return isNamed(error, 'MongoNetworkTimeoutError') || isNamed(error, 'MongoWaitQueueTimeoutError')
  return [...error.reason?.servers.values() ?? []].some(({ error, type }) => (
    isNamed(error, 'MongoNetworkTimeoutError') || (error === null && type === 'Unknown')
  ))
}

export function isSelectionError (error: unknown): error is SelectionError {
  return isNamed(error, 'MongoServerSelectionError')
}

export function isServerError (error: unknown): error is ServerError {
  return isNamed(error, 'MongoServerError')
}

export function isWriteConcernError (error: unknown): error is WriteConcernError {
  return isNamed(error, 'MongoWriteConcernError')
}

function isNamed (error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name
}
