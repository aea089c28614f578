import type { Request } from './wire/request.js'

/** What a test can look up of a command that arrived. */
export interface Received {
  readonly command: string
  /** How many documents came with it. */
  readonly documents: number
  readonly comment: unknown
  /** The member that it came to, `127.0.0.1:port`. */
  readonly member: string
  /** Milliseconds since the process began, as `performance.now()` counts them. */
  readonly at: number
}

/** The record of a command as it arrives. */
export function received ({ command, documents, body }: Request, member: string): Received {
  return { command, documents: documents.length, comment: body['comment']?.valueOf(), member, at: performance.now() }
}
