import type { Document } from 'bson'

/** What the answer to a failed command says. */
export interface Failure {
  readonly code: number
  readonly message?: string
  readonly labels?: readonly string[]
}

/** The failure of a whole command: thrown by the commands, and turned into the answer `{ ok: 0, code, … }`. */
export class CommandError extends Error implements Failure {
  readonly code: number
  readonly labels: readonly string[]

  constructor ({ code, message = `error ${code}`, labels = [] }: Failure) {
    super(message)
    this.code = code
    this.labels = labels
  }

  /** The answer, as a real server sends it. */
  toAnswer (): Document {
    const { code, labels, message } = this
    return { ok: 0, errmsg: message, code, ...(labels.length > 0 && { errorLabels: labels }) }
  }
}
