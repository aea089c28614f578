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
}

/** The errors of commands that never had a connection, or were never written to it. */
const NOT_SENT = new Set([
  'MongoServerSelectionError',
  'MongoWaitQueueTimeoutError',
  'MongoPoolClearedError',
  'MongoPoolClosedError',
  'MongoTopologyClosedError',
  'MongoNotConnectedError',
  // Such as the module that compresses commands as the URL demands.
  'MongoMissingDependencyError'
])

/** Whether the error alone shows that the server did not get the command, or wrote nothing. */
export function nothingWasWritten ({ name, errorLabels = [] }: DriverError): boolean {
  if (NOT_SENT.has(name)) return true
  // The server's label, and the driver's for a connection that could not be opened.
  if (errorLabels.includes('NoWritesPerformed') || errorLabels.includes('HandshakeError')) return true
  // The driver's label for a connection that was refused. From a server, it does not tell what was written.
  return errorLabels.includes('SystemOverloadedError') && name.startsWith('MongoNetwork')
}

/** Whether the driver knows no server to send a command to. It may look for none any more. */
export function hasNoServer ({ name }: DriverError): boolean {
  return name === 'MongoServerSelectionError' || name === 'MongoTopologyClosedError'
}

/** Whether a server sent the error. Other errors may have a code too. */
export function isOfServer ({ name }: Error): boolean {
  return name === 'MongoServerError' || name === 'MongoWriteConcernError'
}

/** Why MongoDB did not do it, in one line. It contains no credentials, and nothing of a plant. */
export function reasonOf (error: DriverError): string {
  // The driver repeats a server's message in the errors that follow from it.
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (isOfServer(cause)) return `MongoDB: ${describe(cause as DriverError)}`
  }
  // OpenSSL's messages end in a line break.
  return `MongoDB: ${error.message.trim().replace(/\s+/g, ' ')}`
}

/** A code that a server sent. Its message is left out: it may contain the command, and so the plants. */
export function describe ({ code, codeName }: Pick<DriverError, 'code' | 'codeName'>): string {
  return `error ${code ?? 'without a code'}${codeName === undefined ? '' : ` (${codeName})`}`
}
