#!/usr/bin/env node
import { isatty } from 'node:tty'
import { inspect } from 'node:util'
import { codeOf, messageOf } from '../error-message.js'
import { useCompileCache } from './compile-cache.js'
import { keepTick } from './http/node-workarounds.js'
import type { Command } from './commands/command-line.js'

keepTick()

/** Milliseconds that what is pending at an interruption has to settle: a store or a disk may never respond. */
const GRACE = 2_000

const hasTerminal = () => [0, 1, 2].some(fd => isatty(fd))
// A terminal that was closed is none any more.
const isOnTerminal = hasTerminal()
/** Made when a command begins. The first signal aborts it, and the command ends as soon as it can; the next ends it. */
let interruption: AbortController | undefined
/** A service that a signal ends while it is being loaded was stopped, and has not failed. */
let isService = false

// Before anything else is loaded: as PID 1 of a container, a process ignores signals without a handler.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end)

function end (signal: NodeJS.Signals, number: number): void {
  // Without a terminal, SIGHUP changes nothing: Node forgets that nohup(1) ignored it.
  if (signal === 'SIGHUP' && !isOnTerminal) return
  if (signal === 'SIGHUP') process.once('exit', endByHangup)
  const isHandledByService = process.listenerCount(signal) > 1
  if (isHandledByService) return
  if (isService) process.exit(0)
  if (interruption === undefined || interruption.signal.aborted) process.exit(128 + number)
  interruption.abort()
  setTimeout(fail, GRACE).unref()
}

/** Node 20 crashes if it exits when its terminal is closed. */
function endByHangup (): void {
  if (hasTerminal()) return
  process.removeAllListeners('SIGHUP')
  process.kill(process.pid, 'SIGHUP')
}

// Output that cannot be written ends no process: `--help | head -1`, a terminal that was closed, a log on a full disk.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

/** Errors that the operator can fix: one line, not the stack. Their modules are loaded with the commands. */
const expected = ['CommandLineError', 'ConfigurationError', 'CopyError', 'StoreUnusable']

useCompileCache()
// Not awaited here: Passenger and iisnode load the program with `require`, which refuses a module that awaits.
main().catch(fail)

async function main (): Promise<void> {
  const { readCommand } = await import('./commands/command-line.js')
  const command = readCommand(process.argv.slice(2))
  const code = await run(command)
  // Whatever timers a preloaded module has. The callback waits for what was written before.
  if (command.name !== 'serve') process.stdout.write('', () => process.exit(code))
}

async function run (command: Command): Promise<number> {
  const { name } = command
  isService = name === 'serve'
  if (name === 'serve') await (await import('./serve.js')).serve(isOnTerminal)
  if (name === 'help') process.stdout.write((await import('./commands/help.js')).help)
  const { version, warningsOf } = await import('./configuration/configuration.js')
  if (name === 'version') process.stdout.write(`${version}\n`)
  if (name === 'serve' || name === 'help' || name === 'version') return 0

  for (const warning of warningsOf(process.env)) process.stderr.write(`plant-store: ${warning}\n`)

  interruption = new AbortController()
  const { env, stdout, stderr } = process
  const surroundings = { env, stdout, stderr, interruption: interruption.signal }
  if (name === 'backup') return (await import('./commands/backup.js')).backup(command, surroundings)
  if (name === 'export') return (await import('./commands/export.js')).exportPlants(command, surroundings)
  const { importPlants, migrate } = await import('./commands/import-and-migrate.js')
  return name === 'import' ? importPlants(command, surroundings) : migrate(command, surroundings)
}

function fail (error?: unknown): never {
  const reason = interruption?.signal.aborted ? 'interrupted: run it again' : describe(error)
  // Over a line of progress.
  const start = process.stderr.isTTY ? '\r\x1b[K' : ''
  // The reader of the output may have closed it, as head does.
  if (codeOf(error) !== 'EPIPE') process.stderr.write(`${start}plant-store: ${reason}\n`)
  process.exit(nameOf(error) === 'CommandLineError' ? 2 : 1)
}

function describe (error: unknown): string {
  // As ENOSPC of the operating system, and `database or disk is full` of SQLite.
  const isOfSystem = error instanceof Error && ('syscall' in error || 'errcode' in error)
  return isOfSystem || expected.includes(nameOf(error)) ? messageOf(error) : inspect(error)
}

/** The name of an error's class. */
function nameOf (error: unknown): string {
  return error instanceof Error ? error.constructor.name : ''
}
