import { parseArgs, type ParseArgsConfig } from 'node:util'
import { messageOf } from '../error-message.js'

/** A parsed command. `file` is undefined for standard input or output. */
export type Command =
  | { name: 'serve' | 'help' | 'version' }
  | { name: 'migrate', quiet: boolean }
  | { name: 'export' | 'import', file: string | undefined, quiet: boolean }
  | { name: 'backup', file: string, quiet: boolean }

/** Invalid arguments; the message says what is valid. */
export class UnknownCommand extends Error {}

const options = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  quiet: { type: 'boolean', short: 'q' }
} as const satisfies ParseArgsConfig['options']

const hint = 'plant-store --help lists commands and options'

/** Parses the arguments after the program's name; throws an UnknownCommand. */
export function readCommand (args: readonly string[]): Command {
  const { values: { help, version, quiet }, positionals } = parse(args)
  if (help) return { name: 'help' }
  if (version) return { name: 'version' }
  // A variable of a script that is not set.
  if (positionals.includes('')) throw new UnknownCommand(`an argument is empty; ${hint}`)
  const [name = 'serve', file, ...more] = positionals
  switch (name) {
    case 'serve':
    case 'help':
    case 'version':
      refuse(name, [file, ...more], quiet && '--quiet')
      return { name }
    case 'migrate':
      refuse(name, [file, ...more])
      return { name, quiet: quiet === true }
    case 'export':
    case 'import':
      refuse(name, more)
      return { name, file: file === '-' ? undefined : file, quiet: quiet === true }
    case 'backup':
      refuse(name, more)
      if (file === undefined) throw new UnknownCommand(`backup takes the name of a file: plant-store backup FILE; ${hint}`)
      return { name, file, quiet: quiet === true }
    default:
      throw new UnknownCommand(`${JSON.stringify(name)} is not a command; ${hint}`)
  }
}

function parse (args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    // The first sentence names the argument; the others are about `--`.
    throw new UnknownCommand(`${messageOf(error).split('. ', 1)[0]}; ${hint}`)
  }
}

function refuse (command: string, args: readonly (string | undefined)[], option?: string | false): void {
  const unknown = args.find(arg => arg !== undefined) ?? option
  if (unknown) throw new UnknownCommand(`${command} does not take ${JSON.stringify(unknown)}; ${hint}`)
}
