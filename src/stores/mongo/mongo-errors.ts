import type { ServerDescription, Topology } from './mongo-driver.js'

/**
 * What the driver's errors tell, by their names and fields: an error of another copy of the driver is not an instance
 * of this copy's classes. https://github.com/mongodb/node-mongodb-native/blob/main/src/error.ts
 */
export interface DriverError extends Error {
  /** The server's: it refused a command, or the handshake of a connection. */
  code?: number | string
  codeName?: string
  errorLabels?: readonly string[]
  /** Of a MongoWriteConcernError: the server's response. It executed the command. */
  result?: object
  /** Of a MongoServerSelectionError: no suitable server was found in time, so that nothing was sent. */
  reason?: { servers?: Topology['servers'] }
}

/** No server takes writes: as the driver's MongoServerSelectionError, before its timeout is over. */
export class NoServerFound extends Error implements DriverError {
  override name = 'MongoServerSelectionError'

  constructor (readonly reason: Topology) {
    super('no server takes writes')
  }
}

/** What a host's object fails with that is no driver's, such as nothing: it tells nothing about the outcome. */
export class NotOfADriver extends Error {
  override name = 'NotOfADriver'
}

/** What was thrown, as an error. */
export function errorOf (thrown: unknown): DriverError {
  return thrown instanceof Error ? thrown : new NotOfADriver('it failed without an error')
}

/** The servers among which a MongoServerSelectionError found none; undefined for any other error. */
export function serversOf ({ reason }: DriverError): ServerDescription[] | undefined {
  return reason?.servers && [...reason.servers.values()]
}

/** Why MongoDB did not do it, in one line. It contains hosts, never credentials, and nothing of a plant. */
export function faultOf (error: DriverError): string {
  const servers = serversOf(error)
  if (servers === undefined) return `MongoDB: ${wordingOf(error)}`
  const faults = servers.map(server => `${server.address}: ${faultOfServer(server)}`)
  return `MongoDB is not reachable: ${faults.join('; ') || wordingOf(error)}`
}

function faultOfServer ({ error, type }: ServerDescription): string {
  if (error !== null) return wordingOf(error)
  return type === 'Unknown' ? 'no response' : type
}

/** A code that a server sent. Its message is left out: it may contain the command, and so the plants. */
export function describe ({ code, codeName }: { code?: number | string, codeName?: string }): string {
  return `error ${code ?? 'without a code'}${codeName === undefined ? '' : ` (${codeName})`}`
}

function wordingOf (error: DriverError): string {
  // The driver quotes a server's error in those that follow from it.
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (/^Mongo(?:Server|WriteConcern)Error$/.test(cause.name)) return describe(cause as DriverError)
  }
  const { name, cause, message } = error
  return name === 'AbortError' && cause instanceof Error ? cause.message : message
}

/** Whether MongoDB did not respond in time, to a command or a connection, rather than being known to be unreachable. */
export function wasSilent (error: DriverError): boolean {
  const silent = ['MongoNetworkTimeoutError', 'MongoWaitQueueTimeoutError']
  if (silent.includes(error.name)) return true
  const servers = serversOf(error) ?? []
  return servers.some(({ error, type }) => {
    return error === null ? type === 'Unknown' : error.name === 'MongoNetworkTimeoutError'
  })
}

/**
 * Whether the driver could not make a message of a command: another attempt would fail likewise. The same names may
 * stand for a response that cannot be read, so that this decides nothing once the command was sent.
 */
export function isUnsendable ({ name }: Error): boolean {
  return name === 'RangeError' || name === 'MongoInvalidArgumentError' || /^BSON/.test(name)
}
