import type { Document } from 'bson'

/** The fields of the reply to a failed command. */
export interface Failure {
  readonly code: number
  readonly message?: string
  readonly labels?: readonly string[]
}

/** The failure of a whole command: thrown by the commands, and converted to the reply `{ ok: 0, code, … }`. */
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
