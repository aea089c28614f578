import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import closeWithGrace from 'close-with-grace'
import type { FastifyBaseLogger } from 'fastify'
import { ConfigurationError, readConfiguration, readCredentials } from './configuration.js'
import { firstScreen } from './first-screen.js'
import { createLogger } from './logger.js'
import { longestEnd } from './longest-end.js'
import type { Running } from './running.js'
import { placeOf } from './store-of.js'

/**
 * Runs the service as this process: reads the environment, listens, reads credentials again on SIGHUP, and ends on SIGTERM
 * and SIGINT.
 * @throws {ConfigurationError} where the environment cannot be used
 * @throws {StoreUnusable} where the store can never be opened
 */
export async function serve (): Promise<void> {
  const { env } = process
  const read = readConfiguration(env)
  const madeToken = read.ACCESS_TOKENS === undefined ? randomBytes(24).toString('base64url') : undefined
  const configuration = { ...read, ACCESS_TOKENS: read.ACCESS_TOKENS ?? [madeToken as string] }
  const { WORKERS, METRICS_PORT, DOCS } = configuration
  const log = await createLogger(configuration, process.stdout)
  let running: Running | undefined = undefined as Running | undefined
  let metrics: Server | undefined
  // While it starts, it may have read the files already: then they are read again when it runs.
  let hangUps = 0
  process.on('SIGHUP', () => {
    hangUps++
    if (running !== undefined) reload(running, madeToken, log)
  })

  // Before anything is started: as the first process of a container this one would not hear a signal otherwise.
  closeWithGrace({
    // The workers come first.
    delay: longestEnd(configuration) + (WORKERS > 1 ? 2_000 : 0),
    logger: log,
    skip: ['SIGHUP'],
    onSecondSignal: signal => {
      log.error(`second ${signal}: ends at once`)
      running?.kill()
    },
    onTimeout: delay => {
      log.error(`ends although not all is answered after ${delay} ms`)
      running?.kill()
    }
  }, async ({ signal, err }) => {
    if (err) log.fatal({ err }, 'ends after a fault')
    else log.info(`${signal ?? 'no more work'}: answers what has come, then ends`)
    await running?.end()
    metrics?.close()
    log.info('ended')
  })

  // Loaded only now: a start that fails by its configuration says so in 0.2 instead of 0.5 s.
  running = WORKERS > 1
    ? await (await import('./workers.js')).startWorkers(configuration, log)
    : await (await import('./service.js')).startService({ configuration, log })
  if (METRICS_PORT !== undefined) metrics = await serveMetrics(configuration.HOST, METRICS_PORT, running, log)
  if (hangUps > 0) reload(running, madeToken, log)

  const { address } = running
  const place = placeOf(configuration)
  if (env.NODE_ENV !== 'production') process.stdout.write(firstScreen({ address, store: place, madeToken, docs: DOCS }))
  log.info({ address, store: place, ...(WORKERS > 1 && { workers: WORKERS }) }, `ready at ${address}`)
  log.flush()
}

function reload (running: Running, madeToken: string | undefined, log: FastifyBaseLogger): void {
  try {
    const { ACCESS_TOKENS, tls } = readCredentials(process.env)
    running.reload({ ACCESS_TOKENS: ACCESS_TOKENS ?? [madeToken as string], tls })
    log.info({ tokens: ACCESS_TOKENS?.length ?? 1 }, 'SIGHUP: access tokens and certificate were read again')
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    log.error(`SIGHUP: nothing was changed: ${error.message}`)
  }
}

async function serveMetrics (host: string, port: number, running: Running, log: FastifyBaseLogger): Promise<Server> {
  const [{ metricsServer }, { metricsText }] = await Promise.all([import('./metrics-server.js'), import('./metrics.js')])
  const server = await metricsServer(host, port, async () => metricsText(await running.metrics()))
  const { port: bound } = server.address() as { port: number }
  log.info({ port: bound }, `metrics at port ${bound}, /metrics`)
  return server
}
