import { StoreUnusable } from '../stores/plant-store.js'
import { TransferFault } from '../transfer/sources/plant-source.js'
import { UnknownCommand } from './command-line.js'
import { ConfigurationError } from './config/configuration.js'

const expected = [ConfigurationError, StoreUnusable, UnknownCommand, TransferFault]
const ADDRESS = 'check HOST, PORT and METRICS_PORT'
/** What to do, by the system call that failed. */
const hints: Readonly<Record<string, string>> = {
  listen: ADDRESS,
  bind: ADDRESS,
  getaddrinfo: ADDRESS,
  spawn: 'raise the limits of processes, memory and open files, or lower WORKERS'
}

/** Formats the error of a failed startup: one line if the operator can fix it, otherwise the stack. */
export function formatError (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (expected.some(type => error instanceof type)) return error.message
  // After a failed spawn, `syscall` includes the program.
  const [call = ''] = 'syscall' in error ? String(error.syscall).split(' ') : []
  const hint = hints[call]
  return hint === undefined ? error.stack ?? error.message : `${error.message}: ${hint}`
}
