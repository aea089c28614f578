import type { Document } from 'bson'
import type { Failure } from './command-error.js'
import type { Member } from './member.js'
import type { Request } from './wire/request.js'

/** A document's own failure inside an insert that goes on; `stored` when the answer says so although it was stored. */
export interface WriteFault extends Failure {
  readonly stored: boolean
}

/** How a command is carried out where a cue wants it otherwise than usual. */
export interface Manner {
  /** False: the primary stores it, the secondaries do not hear of it; a majority write is told so at once. */
  readonly replicated?: boolean
  /** The failure that the document at this place in the insert is to meet, if any. */
  readonly fault?: (index: number) => WriteFault | undefined
}

/** What a cue can see and do besides answering. */
export interface Scene {
  readonly request: Request
  /** The server that received the request. */
  readonly member: Member
  /** Closes the connection. */
  readonly hangUp: () => void
  /** Sends half of the answer, then closes the connection. */
  readonly cutShort: (answer: Document) => void
  readonly wait: (ms: number) => Promise<void>
}

/** An answer to send, or none at all. */
export type Answer = Document | undefined

/** Carries the command out, as often as it is called, and returns the answer that a healthy server would give. */
export type Perform = (manner?: Manner) => Promise<Answer>

/** What the server does instead of simply performing and answering one command. */
export type Cue = (scene: Scene, perform: Perform) => Answer | Promise<Answer>
