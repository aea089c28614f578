/**
 * What the driver's errors tell, by their names and fields: an error of another copy of the driver is not an instance
 * of this copy's classes. https://github.com/mongodb/node-mongodb-native/blob/main/src/error.ts
 */
export interface DriverError extends Error {
  /** The server's, which refused a command, or the handshake of a connection. */
  code?: number | string
  codeName?: string
  errorLabels?: readonly string[]
  /** Of a MongoWriteConcernError: the server's response. It executed the command. */
  result?: object
  /** Of a MongoServerSelectionError: no suitable server was found in time, so that nothing was sent. */
  reason?: Partial<Topology> | undefined
}

/** The name of the error of a command that was given up here. */
export const GIVEN_UP = 'GivenUpError'

/** What the driver knows of the servers. */
export interface Topology { servers: ReadonlyMap<string, ServerDescription>, setName?: string | null }
interface ServerDescription { address: string, type: string, error: DriverError | null }

/** The servers among which a MongoServerSelectionError found none; undefined for any other error. */
export function serversOf ({ reason }: DriverError): ServerDescription[] | undefined {
  return reason?.servers && [...reason.servers.values()]
}

/** The error of a command that was not sent, with each server and its error if none of them can be reached. */
export function unsentBecause (error: DriverError, topology: Topology | undefined): DriverError {
  const servers = [...topology?.servers.values() ?? []]
  const areAway = servers.every(({ type }) => type === 'Unknown') && servers.some(({ error }) => error !== null)
  return areAway ? notReachable(topology) : error
}

/** The same of a check, which tells that they are silent, too. */
export function checkFailedBecause (error: DriverError, topology: Topology | undefined): DriverError {
  const isGivenUp = ['AbortError', GIVEN_UP].includes(error.name)
  const areSilent = topology !== undefined && [...topology.servers.values()].every(({ type }) => type === 'Unknown')
  return isGivenUp && areSilent ? notReachable(topology) : unsentBecause(error, topology)
}

function notReachable (topology: Topology | undefined): DriverError {
  return Object.assign(new Error(), { name: 'MongoServerSelectionError', reason: topology })
}

/** Why MongoDB did not do it, in one line. It contains hosts, never credentials, and nothing of a plant. */
export function faultOf (error: DriverError): string {
  const servers = serversOf(error)
  if (servers === undefined) return `MongoDB: ${wordingOf(error)}`
  const faults = servers.map(({ address, type, error }) => {
    const state = type === 'Unknown' ? 'no response' : type
    return `${address}: ${error === null ? state : wordingOf(error)}`
  })
  const none = `no server of the replica set ${error.reason?.setName ?? 'that the URL names'} was found`
  return `MongoDB is not reachable: ${faults.join('; ') || none}`
}

/** A code that a server sent. Its message is left out: it may contain the command, and so the plants. */
export function describe ({ code, codeName }: { code?: number | string, codeName?: string }): string {
  return `error ${code ?? 'without a code'}${codeName === undefined ? '' : ` (${codeName})`}`
}

/** Whether a server sent the error. */
export function isOfServer ({ name }: Error): boolean {
  return /^Mongo(?:Server|WriteConcern)Error$/.test(name)
}

function wordingOf (error: DriverError): string {
  // The driver quotes a server's error in those that follow from it.
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (isOfServer(cause)) return describe(cause as DriverError)
  }
  const { name, cause, message } = error
  const wording = name === 'AbortError' && cause instanceof Error ? cause.message : message
  // OpenSSL's messages end in a line break.
  return wording.trim().replace(/\s+/g, ' ')
}

/** Whether MongoDB did not respond in time, to a command or a connection, rather than being known to be unreachable. */
export function wasSilent (error: DriverError): boolean {
  const timedOut = ({ name }: Error) => /^Mongo(?:Network|WaitQueue)TimeoutError$/.test(name)
  const servers = serversOf(error) ?? []
  return timedOut(error) || servers.some(({ type, error }) => error === null ? type === 'Unknown' : timedOut(error))
}
