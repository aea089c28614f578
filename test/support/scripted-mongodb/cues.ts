import type { Document } from 'bson'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Request } from './wire.js'

export interface Failure {
  readonly code: number | undefined
  readonly codeName?: string
  readonly message?: string
  readonly labels?: readonly string[]
}

export function failed ({ code, codeName, message = `error ${code}`, labels }: Failure): Document {
  return { ok: 0, errmsg: message, code, codeName, errorLabels: labels }
}

/** What a cue changes in the execution of a command. */
export interface Overrides {
  /** If false, only the primary has it until a later write. */
  readonly replicated?: boolean
  /** The failure of the document at this index, if any. */
  readonly fault?: (index: number) => Failure | undefined
}

/** What happens when a primary steps down. */
export interface StepDownOptions {
  readonly electAfter?: number
  readonly closeConnections?: boolean
}

export type Answer = Document | undefined | void

/**
 * What the server does instead of only executing and answering one command. `execute` executes the command, each time
 * it is called, and returns the answer of a healthy server.
 */
export type Cue = (context: {
  readonly request: Request
  readonly close: () => void
  readonly stepDown: (options: StepDownOptions) => Promise<void>
}, execute: (overrides?: Overrides) => Promise<Answer>) => Answer | Promise<Answer>

/** The command is neither executed nor answered; the connection stays open. */
export const hang = (): Cue => () => undefined

/** Stored, but the answer never arrives; the connection stays open. */
export const loseReply = (): Cue => async (_context, execute) => { await execute() }

export const closeBeforeStoring = (): Cue => ({ close }) => close()

export const closeAfterStoring = (): Cue => async ({ close }, execute) => {
  await execute()
  close()
}

export const delay = (ms: number): Cue => async (_context, execute) => {
  await sleep(ms, undefined, { ref: false })
  return execute()
}

/** Stored immediately, answered later. */
export const delayReply = (ms: number): Cue => async (_context, execute) => {
  const usual = await execute()
  await sleep(ms, undefined, { ref: false })
  return usual
}

/** The whole command fails with this code and these labels. */
export const answer = (failure: Failure): Cue => () => failed(failure)

/** The documents at these indexes fail with this code. */
export const writeErrors = ({ at, ...failure }: Failure & { at: number[] }): Cue =>
  (_context, execute) => execute({ fault: index => at.includes(index) ? failure : undefined })

/** Answered with a write concern error, although the majority stored it or, by default, only the primary. */
export function writeConcernError ({ code, message = 'scripted', majority }: Failure & { majority?: boolean }): Cue {
  return async (_context, execute) => {
    const usual = await execute({ replicated: majority === true })
    return usual && {
      ...usual, writeConcernError: { code, errmsg: message, errInfo: { writeConcern: { w: 'majority' } } }
    }
  }
}

/** Stored, but the response counts another number of documents; `undefined` leaves the count out. */
export const miscount = (n: unknown): Cue => async (_context, execute) => {
  const usual = await execute()
  return usual && { ...usual, n }
}

/** The primary steps down before it executes the command. */
export const stepDown = (options: StepDownOptions = {}): Cue => context => {
  context.stepDown(options)
  return failed({ code: 11602, message: 'operation was interrupted' })
}
