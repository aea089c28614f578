import type { Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { messageOf } from '../../error-message.js'

/** The commands, and whether they take a file. */
const commands = {
  serve: false, help: false, version: false, migrate: false, export: true, import: true, backup: true
}

export interface Command {
  name: keyof typeof commands
  /** `-` is standard input or output. */
  file: string
  quiet: boolean
}

/** What a command uses of its process. */
export interface Surroundings {
  env: NodeJS.ProcessEnv
  stdout: Output
  stderr: Output
  /** Aborted by a signal: the command ends as soon as it can, and leaves no file behind. */
  interruption: AbortSignal
}

export type Output = Writable & { isTTY?: boolean, columns?: number }

/** An invalid argument, which the message names. */
export class CommandLineError extends Error {
  constructor (fault: string) {
    super(`${fault}; plant-store --help lists commands and options`)
  }
}

/** Parses the arguments after the program's name; throws a CommandLineError. */
export function readCommand (args: readonly string[]): Command {
  const { values: { help, version, quiet = false }, positionals } = parse(args)
  // A variable of a script that is not set.
  if (positionals.includes('')) throw new CommandLineError('an argument is empty')
  if (help) return { name: 'help', file: '-', quiet }
  if (version) return { name: 'version', file: '-', quiet }

  const [word = 'serve', ...others] = positionals
  if (!Object.hasOwn(commands, word)) throw new CommandLineError(`${JSON.stringify(word)} is not a command`)
  const name = word as Command['name']
  const file = commands[name] ? others.shift() : undefined
  if (name === 'backup' && (file === undefined || file === '-')) throw new CommandLineError('backup takes the name of a file: plant-store backup FILE')
  if (name === 'serve' && quiet) others.push('--quiet')
  if (others.length > 0) throw new CommandLineError(`${name} does not take ${JSON.stringify(others[0])}`)
  return { name, file: file ?? '-', quiet }
}

function parse (args: readonly string[]) {
  const flag = (short: string) => ({ type: 'boolean', short } as const)
  const options = { help: flag('h'), version: flag('v'), quiet: flag('q') }
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    // The first sentence names the argument; the others are about `--`.
    throw new CommandLineError(messageOf(error).replace(/\. .*/s, ''))
  }
}
