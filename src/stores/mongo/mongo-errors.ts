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
  reason?: { servers?: ReadonlyMap<string, ServerDescription> }
}

interface ServerDescription {
  address: string
  type: string
  error: DriverError | null
  /** On the clock of `performance.now()`. */
  lastUpdateTime: number
}

/** The servers among which a MongoServerSelectionError found none; undefined for any other error. */
export function serversOf ({ reason }: DriverError): ServerDescription[] | undefined {
  return reason?.servers && [...reason.servers.values()]
}

/** Why MongoDB did not do it, in one line. It contains hosts, never credentials, and nothing of a plant. */
export function faultOf (error: DriverError): string {
  const faults = serversOf(error)?.map(({ address, type, error }) => `${address}: ${error === null ? type : wordingOf(error)}`)
  return faults === undefined ? `MongoDB: ${wordingOf(error)}` : `MongoDB is not reachable: ${faults.join('; ') || wordingOf(error)}`
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
  return error.message
}

/** Whether MongoDB did not respond in time, to a command or a connection, rather than being known to be unreachable. */
export function wasSilent (error: DriverError): boolean {
  const silent = ['MongoNetworkTimeoutError', 'MongoWaitQueueTimeoutError']
  return silent.includes(error.name) || serversOf(error)?.some(({ error, type }) => (
    error === null ? type === 'Unknown' : error.name === 'MongoNetworkTimeoutError'
  )) === true
}
