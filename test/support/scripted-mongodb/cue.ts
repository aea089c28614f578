import type { Document } from 'bson'
import type { Failure } from './command-error.js'
import type { Member } from './member.js'
import type { Request } from './wire/request.js'

/** The failure of one document of an insert; `stored` if it is stored nevertheless. */
export interface WriteFault extends Failure {
  readonly stored: boolean
}

/** What a cue changes in the execution of a command. */
export interface Overrides {
  /** If false, the primary stores it but does not replicate it; a majority write fails immediately. */
  readonly replicated?: boolean
  /** The failure of the document at this index, if any. */
  readonly fault?: (index: number) => WriteFault | undefined
}

/** What a cue can use in addition to the usual execution. */
export interface CueContext {
  readonly request: Request
  /** The server that received the request. */
  readonly member: Member
  /** Closes the connection. */
  readonly closeConnection: () => void
  /** Sends half of the answer, then closes the connection. */
  readonly sendHalf: (answer: Document) => void
  readonly wait: (ms: number) => Promise<void>
}

/** The answer to send, or none. */
export type Answer = Document | undefined

/** Executes the command, each time it is called, and returns the answer of a healthy server. */
export type Execute = (overrides?: Overrides) => Promise<Answer>

/** What the server does instead of only executing and answering one command. */
export type Cue = (context: CueContext, execute: Execute) => Answer | Promise<Answer>
