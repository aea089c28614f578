import { randomBytes } from 'node:crypto'
import closeWithGrace from 'close-with-grace'
import { ConfigurationError, readConfiguration, readCredentials, type Configuration } from './config/configuration.js'
import { createStore, describeStore } from './create-store.js'
import { shutdownTimeoutMs } from './http/drain.js'
import { isSocketPath, removeStaleSocket } from './http/unix-socket.js'
import { createLogger } from './logging/logger.js'
import { startupBanner } from './logging/startup-banner.js'

/** Runs the service: reads the environment, listens, reloads on SIGHUP, and shuts down on SIGTERM and SIGINT. */
export async function serve (): Promise<void> {
  const { env } = process
  const read = readConfiguration(env)
  const generated = randomBytes(24).toString('base64url')
  const madeToken = read.ACCESS_TOKENS === undefined ? generated : undefined
  const starting = start({ ...read, ACCESS_TOKENS: read.ACCESS_TOKENS ?? [generated] }, madeToken)
  // No event has been handled since the files were read, so none is missed: a SIGHUP during startup reads them again.
  process.on('SIGHUP', async () => {
    const started = await starting.catch(() => undefined)
    if (started === undefined) return
    const { service, log } = started
    try {
      const { ACCESS_TOKENS, tls } = readCredentials(env)
      service.reload({ ACCESS_TOKENS: ACCESS_TOKENS ?? [generated], tls })
      log.info({ tokens: ACCESS_TOKENS?.length ?? 1 }, 'SIGHUP: access tokens and certificate reloaded')
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      log.error(`SIGHUP: nothing changed: ${error.message}`)
    }
  })
  await starting
}

async function start (configuration: Configuration, madeToken: string | undefined) {
  const { HOST, METRICS_PORT, DOCS } = configuration
  const log = await createLogger(configuration, process.stdout)
  // Before anything is started, so that a signal during startup is a clean stop.
  let isShuttingDown = false
  let shutdown = async (): Promise<void> => {}
  closeWithGrace({
    delay: shutdownTimeoutMs(configuration),
    logger: log,
    skip: ['SIGHUP'],
    onTimeout: delay => { log.error(`forced exit after ${delay} ms with requests pending`) }
  }, async ({ signal, err }) => {
    isShuttingDown = true
    if (err) log.fatal({ err }, 'shutting down after an uncaught error')
    else log.info(`${signal ?? 'no more work'}: finishing pending requests, then exiting`)
    await shutdown()
    log.info('stopped')
  })

  if (isSocketPath(HOST)) await removeStaleSocket(HOST)
  // Loaded only now: with an invalid configuration, startup fails in 0.2 instead of 0.5 s.
  const { startService } = await import('./service.js')
  const service = await startService({ configuration, log, store: await createStore(configuration) })
  if (isShuttingDown) return { service, log }
  shutdown = () => service.shutdown()
  if (METRICS_PORT !== undefined) {
    const { serveMetrics } = await import('./metrics/serve-metrics.js')
    const host = isSocketPath(HOST) ? '127.0.0.1' : HOST
    const port = await serveMetrics(host, METRICS_PORT, async () => service.metrics())
    log.info({ port }, `metrics on port ${port}, path /metrics`)
  }

  const { address } = service
  const place = describeStore(configuration)
  if (process.env.NODE_ENV !== 'production') process.stdout.write(startupBanner(address, place, madeToken, DOCS))
  log.info({ address, store: place }, `ready at ${address}`)
  log.flush()
  return { service, log }
}
