import type { Document } from 'bson'

/** One message of a client, read: a command, its documents, and how it wants to be answered. */
export interface Request {
  /** The command's name as the server's documentation spells it; `isMaster` in any spelling is `hello`. */
  readonly command: string
  /**
   * The command document. Its numbers are BSON objects (`Int32`, `Long`, `Double`), so that they are written back as
   * they came.
   */
  readonly body: Document
  /** What an insert brings, whether it came as an array or as a document sequence. */
  readonly documents: readonly Document[]
  readonly database: string
  readonly requestId: number
  /** The client takes a stream of answers to this one request (the driver's monitor does, for `hello`). */
  readonly allowsExhaust: boolean
  /** The message was an OP_QUERY, as the first of a driver, and needs an OP_REPLY. */
  readonly legacy: boolean
}
