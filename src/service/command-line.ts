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

export const usage = `
Usage: plant-store [serve]
       plant-store export [FILE] [--quiet]
       plant-store import [FILE] [--quiet]
       plant-store backup FILE [--quiet]
       plant-store migrate [--quiet]

  serve          runs the service (the default)
  export [FILE]  writes every plant as a line of JSON (NDJSON), with exact ids, to a new file or to standard output
  import [FILE]  stores the plant of each such line, from a file or from standard input; can be interrupted and run again
  backup FILE    copies the SQLite database to a new file, while the service runs
  migrate        copies every plant of DATA_DIR to MONGODB_URL; can be interrupted and run again

  -q, --quiet    shows problems, but no progress
  -h, --help     this page
  -v, --version  the version

Exit codes: 0 on success; 1 on failure, for example if a plant was not copied; 2 if an argument is invalid.

Everything else is set by the environment (node --env-file=.env also works):

  HOST, PORT                    where to listen (default: 127.0.0.1, 3000). A HOST that begins with / is the path of a Unix socket
  ACCESS_TOKENS                 accepted bearer tokens, 16 characters or more, separated by commas or white space
  MONGODB_URL                   set: plants go to that MongoDB; unset: to SQLite in DATA_DIR
  DATA_DIR                      folder of the SQLite database plants.db (default: ./data)
  ACCESS_LOG                    true: one log line per request (default: false)
  LOG_LEVEL                     fatal, error, warn, info, debug, trace or silent (default: info)
  BODY_LIMIT                    bytes of a request body (default: 1048576)
  STORE_TIMEOUT                 milliseconds within which a create request gets its response (default: 10000)
  QUEUE_LIMIT                   create requests pending in the store at once (default: 10000)
  QUEUE_BYTES                   bytes of bodies being received or pending in the store (default: 67108864)
  METRICS_PORT                  set: Prometheus metrics on that port of HOST, path /metrics
  TRUST_PROXY                   addresses or CIDR ranges of proxies whose X-Forwarded-For is believed, or unix:
  REQUEST_ID_HEADER             header of a trusted proxy whose value becomes the request's id
  TLS_CERT_FILE, TLS_KEY_FILE   both set: HTTPS
  DOCS                          true: an API page at /docs (default: true; false in production)
  ACCESS_TOKENS_FILE, MONGODB_URL_FILE   files to read the secrets from; SIGHUP reads the tokens and the certificate again
`
