/** A command cannot start or continue; the message says why, in one line. */
export class TransferFault extends Error {
  override name = 'TransferFault'
  /** Whether the same command, run again later, may get further. */
  readonly temporary: boolean

  constructor (message: string, { temporary = false } = {}) {
    super(message)
    this.temporary = temporary
  }
}

/** The reader of the output has closed it, as `head` does; there is nothing to report. */
export class OutputClosed extends Error {
  override name = 'OutputClosed'
}
