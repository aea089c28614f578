// The command `npm run test:server`.
import { parseArgs } from 'node:util'
import { reasonOf } from './behaviour.js'
import { CannotCheck, connect } from './connection.js'
import { StartedServer } from './started-server.js'

const HELP = `Checks whether plant-store is safe on a server that speaks MongoDB's protocol.

  npm run test:server -- URL [--start COMMAND [--kill]] [--column NAME]

  URL              the server, as in MONGODB_URL; its user needs the roles readWriteAnyDatabase and, to drop a
                   database, dbAdminAnyDatabase
  --start COMMAND  starts the server by this command of a shell, and stops it at the end
  --kill           kills the server that was started, five times, while clients create
  --column NAME    names the rows in which the page docs/mongodb-servers.md, in this column, says something else

It uses a database of its own with a random name, and drops it at the end; Ctrl-C may leave it there.
It takes less than a minute, with --kill two more. Lines with ✓ or ✗ decide whether the service is
right on this server; the others say how the server behaves.

Exit code: 0 if creates, repeats, exact ids and what is read back are right there; 1 if not;
2 if that could not be checked: no URL, no server, no right to write, a server that does not start.
`

/** The exit code after Ctrl-C. */
const INTERRUPTED = 130

async function main (): Promise<number> {
  const { url, start, kill, column, help } = readArguments()
  if (help) {
    process.stdout.write(HELP)
    return 0
  }
  if (url === undefined) throw new CannotCheck('no URL: npm run test:server -- mongodb://127.0.0.1:27017/')
  if (kill && start === undefined) throw new CannotCheck('--kill needs --start: it kills only what it has started')

  // What has to be undone, once, the last first.
  const steps: Array<() => Promise<void>> = []
  let undone: Promise<void> | undefined
  const undo = (): Promise<void> => {
    undone ??= steps.reduceRight((earlier, step) => earlier.then(step), Promise.resolve())
    return undone
  }
  const interruption = new AbortController()
  const interrupt = (): void => {
    interruption.abort()
    undo().finally(() => process.exit(INTERRUPTED))
  }
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  // As with `| head`.
  process.stdout.on('error', () => {}).once('error', interrupt)
  try {
    const started = start === undefined ? undefined : new StartedServer(start, url)
    steps.push(async () => { await started?.stop() })
    await started?.start()
    const connection = await connect(url)
    steps.push(connection.end)
    // It takes a while to load, which a mistake in the arguments need not wait for.
    const { check } = await import('./check.js')
    const isRight = await check(connection, interruption.signal, { killable: kill ? started : undefined, column })
    if (interruption.signal.aborted) return INTERRUPTED
    return isRight ? 0 : 1
  } finally {
    await undo()
  }
}

function readArguments () {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        start: { type: 'string' },
        kill: { type: 'boolean', default: false },
        column: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false }
      }
    })
    const [url, ...more] = positionals
    if (more.length > 0) throw new Error('more than one URL: put the command of --start into quotes')
    return { url, ...values }
  } catch (error) {
    throw new CannotCheck(`${reasonOf(error)} (--help explains the options)`)
  }
}

try {
  // A client that the driver never settles must not hold the process.
  process.exit(await main())
} catch (error) {
  if (!(error instanceof CannotCheck)) throw error
  console.error(error.message)
  process.exit(2)
}
