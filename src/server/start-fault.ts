import { StoreUnusable } from '../stores/plant-store.js'
import { UnknownCommand } from './command.js'
import { ConfigurationError } from './configuration.js'

/** What a failed start tells: one line where the operator can do something about it, else the stack. */
export function startFault (error: unknown): string {
  const { message, stack, syscall = '' } = error as NodeJS.ErrnoException
  const told = error instanceof ConfigurationError || error instanceof StoreUnusable || error instanceof WorkerUnusable || error instanceof UnknownCommand ||
    ['listen', 'bind', 'getaddrinfo'].includes(syscall)
  return told ? message : stack ?? message
}

/** A worker could not start; the message is what it told. */
export class WorkerUnusable extends Error {}
