import { randomBytes } from 'node:crypto'
import closeWithGrace from 'close-with-grace'
import type { FastifyBaseLogger } from 'fastify'
import { ConfigurationError, readConfiguration, readCredentials, type Configuration } from './config/configuration.js'
import { createStore, describeStore, storeWarning } from './create-store.js'
import { shutdownTimeoutMs } from './http/drain.js'
import { isSocketPath, removeStaleSocket } from './http/unix-socket.js'
import { watchCertificate } from './logging/certificate-log.js'
import { firstScreen } from './logging/first-screen.js'
import { createLogger } from './logging/logger.js'
import type { RunningService } from './service.js'

/** Runs the service: reads the environment, listens, reloads on SIGHUP, and shuts down on SIGTERM and SIGINT. */
export async function serve (): Promise<void> {
  const { env } = process
  const current: { service?: RunningService } = {}
  // The files may have been read already during startup, so they are read again once the service runs.
  let isHungUp = false
  process.on('SIGHUP', () => {
    isHungUp = true
    if (current.service !== undefined) reload()
  })

  const read = readConfiguration(env)
  const generated = randomBytes(24).toString('base64url')
  const madeToken = read.ACCESS_TOKENS === undefined ? generated : undefined
  const configuration = { ...read, ACCESS_TOKENS: read.ACCESS_TOKENS ?? [generated] }
  const { HOST, WORKERS, METRICS_PORT, DOCS } = configuration
  const log = await createLogger(configuration, process.stdout)
  let stopWatch: (() => void) | undefined
  const watch = ({ tls }: Pick<Configuration, 'tls'>): void => {
    stopWatch?.()
    stopWatch = tls && watchCertificate(tls.expiresAt, log)
  }
  const reload = (): void => {
    try {
      const { ACCESS_TOKENS, tls } = readCredentials(env)
      current.service?.reload({ ACCESS_TOKENS: ACCESS_TOKENS ?? [generated], tls })
      log.info({ tokens: ACCESS_TOKENS?.length ?? 1 }, 'SIGHUP: access tokens and certificate reloaded')
      watch({ tls })
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      log.error(`SIGHUP: nothing changed: ${error.message}`)
    }
  }
  // Before anything is started, so that a signal during startup is a clean stop.
  let isShuttingDown = false
  closeWithGrace({
    // The workers' own timeout comes first.
    delay: shutdownTimeoutMs(configuration) + (WORKERS > 1 ? 2_000 : 0),
    logger: log,
    skip: ['SIGHUP'],
    onSecondSignal: signal => {
      log.error(`second ${signal}: stopping at once`)
      current.service?.kill()
    },
    onTimeout: delay => {
      log.error(`forced exit after ${delay} ms with requests pending`)
      current.service?.kill()
    }
  }, async ({ signal, err }) => {
    isShuttingDown = true
    if (err) log.fatal({ err }, 'shutting down after an uncaught error')
    else log.info(`${signal ?? 'no more work'}: finishing pending requests, then exiting`)
    await current.service?.shutdown()
    log.info('stopped')
  })

  if (isSocketPath(HOST)) await removeStaleSocket(HOST)
  // Loaded only now: with an invalid configuration, startup fails in 0.2 instead of 0.5 s.
  const started = WORKERS > 1
    ? await (await import('./cluster/primary.js')).startWorkers(configuration, log, service => { current.service = service })
    : await startAlone(configuration, log)
  if (isShuttingDown) return
  current.service = started
  if (METRICS_PORT !== undefined) {
    const { serveMetrics } = await import('./metrics/serve-metrics.js')
    const host = isSocketPath(HOST) ? '127.0.0.1' : HOST
    const port = await serveMetrics(host, METRICS_PORT, async () => started.metrics())
    log.info({ port }, `metrics on port ${port}, path /metrics`)
  }

  if (isHungUp) reload()
  else watch(configuration)

  const { address } = started
  const place = describeStore(configuration)
  if (env.NODE_ENV !== 'production') process.stdout.write(firstScreen(address, place, madeToken, DOCS))
  log.info({ address, store: place, ...(WORKERS > 1 && { workers: WORKERS }) }, `ready at ${address}`)
  const warning = await storeWarning(configuration)
  if (warning !== undefined) log.warn(warning)
  log.flush()
}

async function startAlone (configuration: Configuration, log: FastifyBaseLogger): Promise<RunningService> {
  const { createMetrics, startService } = await import('./service.js')
  const store = await createStore(configuration)
  return startService({ configuration, store, log, metrics: await createMetrics(configuration) })
}
