import type { Document } from 'bson'
import { ERROR_NAMES } from './error-names.js'

/** What a failed command is answered with. */
export interface Failure {
  readonly code: number
  readonly codeName?: string
  readonly message?: string
  readonly labels?: readonly string[]
}

/** The failure of a whole command: thrown by the commands, and turned into the answer `{ ok: 0, code, … }`. */
export class CommandError extends Error implements Failure {
  readonly code: number
  readonly codeName: string
  readonly labels: readonly string[]

  constructor ({ code, codeName = ERROR_NAMES[code] ?? `Location${code}`, message = codeName, labels = [] }: Failure) {
    super(message)
    this.code = code
    this.codeName = codeName
    this.labels = labels
  }

  /** The answer, in the shape that the server gives it. */
  toAnswer (): Document {
    const { code, codeName, labels, message } = this
    return { ok: 0, errmsg: message, code, codeName, ...(labels.length > 0 && { errorLabels: labels }) }
  }
}
