import { MongoNetworkTimeoutError, MongoServerSelectionError } from 'mongodb'

/**
 * Why MongoDB was not reached, in one line: of a failed server selection, what each server said rather than that the
 * time ran out. Holds hosts, never credentials.
 */
export function connectionFault (error: unknown): string {
  const { message } = error as Error
  if (!(error instanceof MongoServerSelectionError) || error.reason === undefined) return `MongoDB: ${message}`
  const faults = [...error.reason.servers.values()]
    .map(server => server.error === null ? `${server.address} is ${server.type}` : withAddress(server.address, server.error.message))
  return `MongoDB is not reachable: ${faults.length > 0 ? faults.join('; ') : message}`
}

function withAddress (address: string, message: string): string {
  return message.includes(address) ? message : `${address}: ${message}`
}

/**
 * Whether MongoDB said no word in time, rather than being known to be away. To a client that is one and the same fault,
 * whether its own plant was sent into the silence or a connection had to be made first.
 */
export function wasSilent (error: unknown): boolean {
  if (!(error instanceof MongoServerSelectionError)) {
    // The class of the second, of a connection that was not to be had in time, is not exported.
    return error instanceof MongoNetworkTimeoutError || (error as Error).name === 'MongoWaitQueueTimeoutError'
  }
  return [...error.reason?.servers.values() ?? []].some(({ error, type }) => (
    error instanceof MongoNetworkTimeoutError || (error === null && type === 'Unknown')
  ))
}
