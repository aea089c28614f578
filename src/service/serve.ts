import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import { messageOf } from '../error-message.js'
import { BearerTokens } from '../route/bearer-tokens.js'
import { StoreUnusable } from '../stores/store.js'
import {
  ConfigurationError, isSocketPath, readConfiguration, version, warningsOf, type Configuration
} from './configuration/configuration.js'
import { createStore, describeStore } from './configured-store.js'
import { firstScreen } from './first-screen.js'
import type { Health } from './http/health.js'
import { listen, removeStaleSocket } from './http/server.js'
import { createLogger } from './logger.js'

/**
 * Runs the service until a signal ends it; throws a ConfigurationError or StoreUnusable if it cannot start.
 * @param isOnTerminal whether SIGHUP means that the terminal was closed
 */
export async function serve (isOnTerminal: boolean): Promise<void> {
  const configuration = readConfiguration(process.env)
  const { HOST, PORT, METRICS_PORT, ACCESS_TOKENS, STORE_TIMEOUT } = configuration
  const log = await createLogger(configuration, process.stdout)
  for (const warning of warningsOf(process.env)) log.warn(warning)
  // `npm run dev` keeps one token over restarts.
  const generatedToken = process.env.PLANT_STORE_DEV_TOKEN ?? randomBytes(24).toString('base64url')
  const tokens = new BearerTokens(ACCESS_TOKENS ?? [generatedToken])

  // Before anything is started, so that a signal during startup is a clean stop.
  const servers: Server[] = []
  let shutdown = async (): Promise<void> => {}
  const repeated: ('SIGHUP' | 'SIGINT')[] = []
  // The terminal and the shell may both send it.
  if (isOnTerminal) repeated.push('SIGHUP')
  else process.on('SIGHUP', () => { reload(configuration, tokens, servers, log) })
  // In `npm run dev`, the terminal and `node --watch` both send it.
  if (process.env.PLANT_STORE_DEV_TOKEN !== undefined) repeated.push('SIGINT')
  shutDownOnSignal(STORE_TIMEOUT, log, repeated, async () => shutdown())

  if (isSocketPath(HOST)) await removeStaleSocket(HOST)
  const store = await createStore(configuration)
  // Fastify is loaded while the store opens, and only if the configuration is valid.
  const [{ createApp }, { Health }] = await Promise.all([
    import('./http/app.js'),
    import('./http/health.js'),
    store.open?.().catch(error => { throw new StoreUnusable(messageOf(error)) })
  ])
  const health = new Health(store)
  // prom-client is loaded only if there are metrics.
  const metricsModule = METRICS_PORT === undefined ? undefined : await import('./metrics.js')
  const metrics = metricsModule && new metricsModule.ServiceMetrics(configuration, health)
  const app = await createApp({ configuration, store, health, log, metrics, tokens, servers })
  servers.push(app.server)
  shutdown = async () => {
    // Then no create request waits any more, if STORE_TIMEOUT allows; only clients that are slow to send or to read.
    const end = longestShutdown(STORE_TIMEOUT) - 1_000
    const closeAll = () => { for (const server of servers) server.closeAllConnections() }
    if (end > STORE_TIMEOUT) setTimeout(closeAll, end).unref()
    await app.close()
    await store.close?.()
  }
  await app.ready()
  if (metrics !== undefined) {
    const server = metrics.createServer().listen(METRICS_PORT, isSocketPath(HOST) ? '127.0.0.1' : HOST)
    await once(server, 'listening').catch(refuseAddress)
    const { port } = server.address() as AddressInfo
    log.info({ port }, `metrics on port ${port}, path /metrics`)
  }
  servers.push(...await listen(app, HOST, PORT).catch(refuseAddress))

  const address = isSocketPath(HOST) ? `unix:${HOST}` : app.listeningOrigin
  const shownToken = ACCESS_TOKENS === undefined ? generatedToken : undefined
  if (process.stdout.isTTY && process.env.NODE_ENV !== 'production') {
    process.stdout.write(firstScreen(address, configuration, shownToken))
  } else if (shownToken !== undefined) {
    // Not in the log, which may be kept.
    process.stderr.write(`plant-store: the access token, made for this run, is ${shownToken}; set ACCESS_TOKENS to choose your own\n`)
  }
  log.info({ address, store: describeStore(configuration), version }, `listening at ${address}`)
  await logReadiness(health, address, log)
}

/** Logs when the service first is ready, and before that, once, why it is not. */
async function logReadiness (health: Health, address: string, log: Logger): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const fault = await health.fault()
    if (health.closing) return
    if (fault === undefined) return log.info({ address }, `ready at ${address}`)
    if (isFirst) log.warn(`not ready: ${fault}`)
    await sleep(1_000, undefined, { ref: false })
  }
}

/** Reads the access tokens and the certificate again, if they come from files; after a fault, nothing changes. */
function reload (configuration: Configuration, tokens: BearerTokens, servers: readonly Server[], log: Logger): void {
  try {
    // What is not reloaded may have been for the start alone.
    const env: NodeJS.ProcessEnv = { ...process.env, MONGODB_URL: undefined, MONGODB_URL_FILE: undefined }
    const { ACCESS_TOKENS, tls } = readConfiguration(env)
    const reloaded: string[] = []
    if (env.ACCESS_TOKENS_FILE !== undefined && ACCESS_TOKENS !== undefined) {
      tokens.replace(ACCESS_TOKENS)
      reloaded.push('access tokens')
    }
    if (tls !== undefined) {
      configuration.tls = tls
      for (const server of servers) if (server instanceof https.Server) server.setSecureContext(tls)
      reloaded.push('certificate')
    }
    if (reloaded.length > 0) log.info({ tokens: ACCESS_TOKENS?.length }, `SIGHUP: ${reloaded.join(' and ')} reloaded`)
    else log.info('SIGHUP: nothing to reload: neither ACCESS_TOKENS_FILE nor TLS_CERT_FILE is set')
  } catch (error) {
    log.error(`SIGHUP: nothing changed: ${messageOf(error)}`)
  }
}

/** They end the process as the system does: after a fault in native code, a handler would be called forever. */
const CRASHES = ['SIGQUIT', 'SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV', 'SIGUSR2'] as const

/**
 * Shuts down on SIGTERM, on SIGINT and after an uncaught error. A second signal, or a shutdown that takes too long,
 * exits at once.
 * @param repeated signals that shut down too, of which a second one changes nothing
 */
function shutDownOnSignal (
  storeTimeout: number, logger: Logger, repeated: readonly ('SIGHUP' | 'SIGINT')[], shutdown: () => Promise<void>
): void {
  const delay = longestShutdown(storeTimeout)
  let cause: string = 'no more work'
  const { close } = closeWithGrace({
    delay,
    logger,
    skip: [...CRASHES, 'SIGHUP', ...repeated],
    onTimeout: () => { logger.error(`forced exit after ${delay} ms`) }
  }, async exit => {
    const { signal, err } = exit
    // Of any value, null too.
    const isUncaught = 'err' in exit
    if (isUncaught) logger.fatal({ err }, 'shutting down after an uncaught error')
    else logger.info(`${signal ?? cause}: finishing pending requests, then exiting`)
    await shutdown()
    logger.info('stopped')
    // close-with-grace takes what is falsy for no error.
    if (isUncaught) process.exit(1)
  })
  for (const name of repeated) {
    process.once(name, () => {
      cause = name
      close()
    }).on(name, () => {})
  }
}

/** Milliseconds: less than the 30 seconds that Kubernetes grants by default. */
function longestShutdown (storeTimeout: number): number {
  return Math.min(storeTimeout + 5_000, 25_000)
}

function refuseAddress (error: unknown): never {
  throw new ConfigurationError(`${messageOf(error)}: check HOST, PORT and METRICS_PORT`)
}
