import { codeOf, messageOf } from '../error-message.js'

/** Why a command cannot start or continue; the message is one line. */
export class TransferFault extends Error {
  /** Whether running the same command again later may help. */
  readonly temporary: boolean

  constructor (message: string, { temporary = false } = {}) {
    super(message)
    this.temporary = temporary
  }
}

/** The reader of the output has closed it, as `head` does: the command exits without a message. */
export class OutputClosed extends Error {}

export function unreadable (path: string, error: unknown): TransferFault {
  return new TransferFault(`${path} cannot be read: ${messageOf(error)}`)
}

export function unwritable (path: string, error: unknown): TransferFault {
  if (codeOf(error) === 'EEXIST') return new TransferFault(`${path} already exists, and was not changed: choose another name`)
  return new TransferFault(`${path} cannot be written: ${messageOf(error)}`)
}
