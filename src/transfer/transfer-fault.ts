import { messageOf } from '../error-message.js'

/** Why a command cannot start or continue; the message is one line. */
export class TransferFault extends Error {}

export function unreadable (path: string, error: unknown): TransferFault {
  return new TransferFault(`${path} cannot be read: ${messageOf(error)}`)
}

/** Turns a failed system call into a TransferFault; returns any other error as it is. */
export function unwritable (path: string, error: unknown): unknown {
  const isSystemError = error instanceof Error && 'syscall' in error
  return isSystemError ? new TransferFault(`${path} cannot be written: ${error.message}`) : error
}
