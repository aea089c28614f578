import { MongoServerSelectionError } from 'mongodb'

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
