import type { Document } from 'bson'
import { CommandError } from './command-error.js'
import { idKey } from './id-key.js'
import type { Stored } from './memory.js'

interface Transaction {
  readonly number: bigint
  /** What each statement of the write stored, by the statement's number. */
  readonly executed: Stored[]
}

/** What each session's latest retryable write has done, so that sending it again repeats only what is missing. */
export class RetryableWrites {
  readonly #sessions = new Map<string, Transaction>()

  /** The statements that were executed before under this command's `lsid` and `txnNumber`; nothing if it is not retryable. */
  executed ({ lsid, txnNumber }: Document): Stored[] | undefined {
    if (lsid === undefined || txnNumber === undefined) return undefined
    const session: string = lsid.id.toString('hex')
    const number = BigInt(idKey(txnNumber))
    const last = this.#sessions.get(session)
    if (last?.number === number) return last.executed
    if (last !== undefined && last.number > number) {
      throw new CommandError({ code: 225, message: `txnNumber ${number} is older than ${last.number}, which this session has already used` })
    }
    const executed: Stored[] = []
    this.#sessions.set(session, { number, executed })
    return executed
  }
}
