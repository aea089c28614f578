import { StoreUnusable } from '../stores/plant-store.js'
import { TransferFault } from '../transfer/transfer-fault.js'
import { UnknownCommand } from './command-line.js'
import { ConfigurationError } from './config/configuration.js'

/** A worker could not start; the message is the worker's own. */
export class WorkerUnusable extends Error {}

const expected = [ConfigurationError, StoreUnusable, WorkerUnusable, UnknownCommand, TransferFault]
const expectedCalls = ['listen', 'bind', 'getaddrinfo']

/** Formats the error of a failed startup: one line if the operator can fix it, otherwise the stack. */
export function formatError (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (expected.some(type => error instanceof type)) return error.message
  const isExpected = 'syscall' in error && expectedCalls.includes(String(error.syscall))
  return isExpected ? `${error.message}: check HOST, PORT and METRICS_PORT` : error.stack ?? error.message
}
