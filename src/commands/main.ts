#!/usr/bin/env node
import { isatty } from 'node:tty'
import { inspect } from 'node:util'
import { codeOf, messageOf } from '../error-message.js'
import { keepTick } from '../service/http/node-workarounds.js'
import type { Command } from './command-line.js'

keepTick()

// Before anything else is loaded: as PID 1 of a container, a process ignores signals without a handler.
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, (_name: NodeJS.Signals, number: number) => {
    if (process.listenerCount(signal) === 1) process.exit(128 + number)
  })
}

// Output that cannot be written ends no process: `plant-store --help | head -1`, or a log on a full disk.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

/** Errors that the operator can fix: one line, not the stack. Their modules are loaded with the commands. */
const expected = ['CommandLineError', 'ConfigurationError', 'CopyError', 'StoreUnusable']

const { CommandLineError, readCommand } = await import('./command-line.js')
try {
  process.exitCode = await run(readCommand(process.argv.slice(2)))
} catch (error) {
  // The reader of the output may have closed it, as head does.
  if (codeOf(error) !== 'EPIPE') process.stderr.write(`plant-store: ${describe(error)}\n`)
  process.exit(error instanceof CommandLineError ? 2 : 1)
}

async function run (command: Command): Promise<number> {
  switch (command.name) {
    case 'help':
      process.stdout.write((await import('./help.js')).help)
      return 0
    case 'version':
      process.stdout.write(`${(await import('../config/version.js')).version}\n`)
      return 0
    case 'serve': {
      const isOnTerminal = [0, 1, 2].some(isatty)
      // A supervisor may send it while the service is loading, before any file is read.
      if (!isOnTerminal) process.on('SIGHUP', () => {})
      await (await import('../service/serve.js')).serve(isOnTerminal)
      return 0
    }
    case 'export':
      return (await import('./export.js')).exportPlants(process.env, command)
    case 'import':
      return (await import('./import.js')).importPlants(process.env, command)
    case 'backup':
      return (await import('./backup.js')).backup(process.env, command)
    case 'migrate':
      return (await import('./import.js')).migrate(process.env, command)
  }
}

function describe (error: unknown): string {
  // As ENOSPC of the operating system, and `database or disk is full` of SQLite.
  const isOfSystem = error instanceof Error && ('syscall' in error || 'errcode' in error)
  return isOfSystem || expected.includes(Object(error).constructor.name) ? messageOf(error) : inspect(error)
}
