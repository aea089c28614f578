/**
 * What the driver's errors tell, by their names and fields: an error of another copy of the driver is not an instance
 * of this copy's classes. https://github.com/mongodb/node-mongodb-native/blob/main/src/error.ts
 */
export interface DriverError extends Error {
  /** The server's: it refused a command, or the handshake of a connection. */
  code?: number | string
  errorLabels?: readonly string[]
  /** Of a MongoWriteConcernError: the server's response. It executed the command. */
  result?: object
  /** Of a MongoServerSelectionError: no suitable server was found in time, so that nothing was sent. */
  reason?: { servers?: ReadonlyMap<string, { address: string, type: string, error: Error | null }> }
}

/** Why MongoDB was not reached, in one line: the error of each server. It contains hosts, never credentials. */
export function connectionFault ({ message, reason }: DriverError): string {
  if (reason?.servers === undefined) return `MongoDB: ${message}`
  const faults = [...reason.servers.values()].map(({ address, type, error }) => {
    if (error === null) return `${address} is ${type}`
    return error.message.includes(address) ? error.message : `${address}: ${error.message}`
  })
  return `MongoDB is not reachable: ${faults.join('; ') || message}`
}

/**
 * Whether MongoDB did not respond in time, rather than being known to be unreachable. It does not matter whether the
 * timeout was of the plant's own command or of a connection that had to be made first.
 */
export function wasSilent ({ name, reason }: DriverError): boolean {
  if (name === 'MongoNetworkTimeoutError' || name === 'MongoWaitQueueTimeoutError') return true
  return [...reason?.servers?.values() ?? []].some(({ error, type }) => (
    error === null ? type === 'Unknown' : error.name === 'MongoNetworkTimeoutError'
  ))
}
