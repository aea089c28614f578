/** Why a command cannot start or continue; the message is one line. */
export class TransferFault extends Error {
  override name = 'TransferFault'
  /** Whether running the same command again later may help. */
  readonly temporary: boolean

  constructor (message: string, { temporary = false } = {}) {
    super(message)
    this.temporary = temporary
  }
}

/** The reader of the output has closed it, as `head` does: the command exits without a message. */
export class OutputClosed extends Error {
  override name = 'OutputClosed'
}
