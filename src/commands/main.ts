#!/usr/bin/env node
import { isatty } from 'node:tty'
import { inspect } from 'node:util'
import { codeOf, messageOf } from '../error-message.js'
import { keepTick } from '../service/http/node-workarounds.js'
import type { Command, Surroundings } from './command-line.js'

keepTick()

// A terminal that was closed is none any more.
const isOnTerminal = hasTerminal()

/** Made when a command begins that ends cleanly; the first signal aborts it. */
let interruption: AbortController | undefined

// Before anything else is loaded: as PID 1 of a container, a process ignores signals without a handler.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(signal, (_name: NodeJS.Signals, number: number) => {
    if (signal === 'SIGHUP') {
      // Without a terminal it changes nothing: Node forgets that nohup(1) ignored it.
      if (!isOnTerminal) return
      process.once('exit', endLikeTerminal)
    }
    const isHandledByService = process.listenerCount(signal) > 1
    if (isHandledByService) return
    const isRepeated = interruption?.signal.aborted === true
    // The shell and the terminal may both send it.
    if (isRepeated && signal === 'SIGHUP') return
    if (interruption === undefined || isRepeated) process.exit(128 + number)
    interruption.abort()
  })
}

// Output that cannot be written ends no process: `--help | head -1`, a terminal that was closed, a log on a full disk.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

/** Errors that the operator can fix: one line, not the stack. Their modules are loaded with the commands. */
const expected = ['CommandLineError', 'ConfigurationError', 'CopyError', 'StoreUnusable']

const { CommandLineError, readCommand } = await import('./command-line.js')
try {
  process.exitCode = await run(readCommand(process.argv.slice(2)))
} catch (error) {
  if (interruption?.signal.aborted) report('interrupted: run it again')
  // The reader of the output may have closed it, as head does.
  else if (codeOf(error) !== 'EPIPE') report(describe(error))
  process.exit(error instanceof CommandLineError ? 2 : 1)
}

async function run (command: Command): Promise<number> {
  switch (command.name) {
    case 'help':
      process.stdout.write((await import('./help.js')).help)
      return 0
    case 'version':
      process.stdout.write(`${(await import('../config/configuration.js')).version}\n`)
      return 0
    case 'serve':
      await (await import('../service/serve.js')).serve(isOnTerminal)
      return 0
    case 'export':
      return (await import('./export.js')).exportPlants(command, surroundings())
    case 'import':
      return (await import('./import.js')).importPlants(command, surroundings())
    case 'backup':
      return (await import('./backup.js')).backup(command, surroundings())
    case 'migrate':
      return (await import('./migrate.js')).migrate(command, surroundings())
  }
}

function hasTerminal (): boolean {
  return [0, 1, 2].some(fd => isatty(fd))
}

/** Node 20 crashes if it exits when its terminal is closed. */
function endLikeTerminal (): void {
  if (hasTerminal()) return
  process.removeAllListeners('SIGHUP')
  process.kill(process.pid, 'SIGHUP')
}

function surroundings (): Surroundings {
  interruption = new AbortController()
  return { env: process.env, stdout: process.stdout, stderr: process.stderr, interruption: interruption.signal }
}

function report (line: string): void {
  process.stderr.write(`plant-store: ${line}\n`)
}

function describe (error: unknown): string {
  // As ENOSPC of the operating system, and `database or disk is full` of SQLite.
  const isOfSystem = error instanceof Error && ('syscall' in error || 'errcode' in error)
  return isOfSystem || expected.includes(Object(error).constructor.name) ? messageOf(error) : inspect(error)
}
