import type { Document } from 'bson'

/** A decoded message of a client: a command, its documents, and how to answer it. */
export interface Request {
  /** The command's name as the server's documentation spells it; `isMaster` in any spelling is `hello`. */
  readonly command: string
  /**
   * The command document. Its numbers are BSON objects (`Int32`, `Long`, `Double`), so that they are sent back
   * unchanged.
   */
  readonly body: Document
  /** The documents of an insert, sent as an array or as a document sequence. */
  readonly documents: readonly Document[]
  readonly database: string
  readonly requestId: number
  /** The client accepts a stream of answers to this one request (the driver's monitor does, for `hello`). */
  readonly allowsExhaust: boolean
  /** The message was an OP_QUERY, as a driver's first message is, and needs an OP_REPLY. */
  readonly legacy: boolean
}
