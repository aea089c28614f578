const commands = ['serve', 'migrate', 'help', 'version'] as const

/** What the program is asked for. */
export type Command = typeof commands[number]

const options: Readonly<Record<string, Command>> = { '--help': 'help', '-h': 'help', '--version': 'version', '-v': 'version' }

/** Arguments that mean nothing here; the message names those that do. */
export class UnknownCommand extends Error {}

/**
 * Reads the command line.
 * @param args what follows the program's name
 * @throws {UnknownCommand}
 */
export function readCommand (args: readonly string[]): Command {
  const [first = 'serve', ...more] = args
  const asked = args.find(arg => Object.hasOwn(options, arg))
  if (asked !== undefined) return options[asked] as Command
  const command = commands.find(command => command === first)
  if (command === undefined || more.length > 0) {
    const unknown = command === undefined ? first : more[0] as string
    throw new UnknownCommand(`${JSON.stringify(unknown)} is unknown: use serve, migrate, --help or --version`)
  }
  return command
}

export const usage = `
Usage: plant-store [serve | migrate | --help | --version]

  serve      runs the service (the default)
  migrate    copies every plant of DATA_DIR to MONGODB_URL; can be interrupted and run again
  --help     this page
  --version  the version

Everything is set by the environment (node --env-file=.env works as well):

  HOST, PORT                    where to listen; 127.0.0.1, 3000
  ACCESS_TOKENS                 accepted bearer tokens, 16 characters or more, separated by commas or white space
  MONGODB_URL                   set: plants go to that MongoDB; unset: to SQLite in DATA_DIR
  DATA_DIR                      folder of the SQLite database plants.db; ./data
  ACCESS_LOG                    true: one log line a request; false
  LOG_LEVEL                     fatal, error, warn, info, debug, trace or silent; info
  BODY_LIMIT                    bytes of a request body; 1048576
  STORE_TIMEOUT                 milliseconds in which a create gets its answer; 10000
  QUEUE_LIMIT                   creates that wait for the store at once; 10000
  WORKERS                       processes that share the port; 1
  METRICS_PORT                  set: Prometheus metrics on that port of HOST, path /metrics
  TLS_CERT_FILE, TLS_KEY_FILE   both set: HTTPS
  DOCS                          true: an API page at /docs; in production false, else true
  ACCESS_TOKENS_FILE, MONGODB_URL_FILE   files to read the secrets from; SIGHUP reads the tokens and the certificate again
`
