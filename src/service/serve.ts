import { randomBytes } from 'node:crypto'
import https from 'node:https'
import type { AddressInfo, Server as NetServer } from 'node:net'
import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import { messageOf } from '../error-message.js'
import { BearerTokens } from '../route/bearer-tokens.js'
import { StoreUnusable } from '../stores/store.js'
import { ConfigurationError, isSocketPath, readConfiguration, requireFiles, version } from './configuration/configuration.js'
import { createStore, describeStore } from './configured-store.js'
import { listenOn, removeStaleSocket } from './http/server.js'
import { createLogger } from './logger.js'

/**
 * Runs the service until a signal ends it; throws a ConfigurationError or StoreUnusable if it cannot start.
 * @param isOnTerminal whether SIGHUP means that the terminal was closed
 */
export async function serve (isOnTerminal: boolean): Promise<void> {
  const configuration = readConfiguration(process.env)
  const { HOST, PORT, METRICS_PORT, ACCESS_TOKENS, STORE_TIMEOUT, DOCS } = configuration
  const log = await createLogger(configuration, process.stdout)
  // `npm run dev` keeps one token over restarts.
  const generatedToken = process.env.PLANT_STORE_DEV_TOKEN ?? randomBytes(24).toString('base64url')
  const tokens = new BearerTokens(ACCESS_TOKENS ?? [generatedToken])

  // Before anything is started, so that a signal during startup is a clean stop.
  let shutdown = async (): Promise<void> => {}
  let server: NetServer | null = null
  const close = shutDownOnSignal(STORE_TIMEOUT, log, async () => shutdown())
  if (isOnTerminal) {
    // The terminal and the shell may both send it.
    process.once('SIGHUP', close).on('SIGHUP', () => {})
  } else {
    process.on('SIGHUP', () => {
      try {
        // The URL is not read again: its file may be a pipe.
        const env = { ...process.env, MONGODB_URL: undefined, MONGODB_URL_FILE: undefined }
        requireFiles(env, ['ACCESS_TOKENS_FILE', 'TLS_CERT_FILE', 'TLS_KEY_FILE'])
        const { ACCESS_TOKENS, tls } = readConfiguration(env)
        tokens.replace(ACCESS_TOKENS ?? [generatedToken])
        configuration.tls = tls
        if (tls !== undefined && server instanceof https.Server) server.setSecureContext(tls)
        log.info({ tokens: ACCESS_TOKENS?.length ?? 1 }, 'SIGHUP: access tokens and certificate reloaded')
      } catch (error) {
        log.error(`SIGHUP: nothing changed: ${messageOf(error)}`)
      }
    })
  }

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
  const listeners: NetServer[] = []
  const app = await createApp({ configuration, store, health, log, metrics, tokens, listeners })
  server = app.server
  shutdown = async () => {
    // Then no create request waits any more, if STORE_TIMEOUT allows; only clients that are slow to send or to read.
    const end = longestShutdown(STORE_TIMEOUT) - 1_000
    if (end > STORE_TIMEOUT) setTimeout(() => { app.server.closeAllConnections() }, end).unref()
    await app.close()
    await store.close?.()
  }
  await app.ready()
  if (metrics !== undefined && METRICS_PORT !== undefined) {
    const host = isSocketPath(HOST) ? '127.0.0.1' : HOST
    const [listener] = await listenOn(metrics.createServer(), host, METRICS_PORT).catch(refuseAddress)
    const { port } = listener?.address() as AddressInfo
    log.info({ port }, `metrics on port ${port}, path /metrics`)
  }
  listeners.push(...await listenOn(app.server, HOST, PORT).catch(refuseAddress))
  // Not earlier: loading the service holds up the event loop, too.
  health.watchEventLoop()
  const address = isSocketPath(HOST) ? `unix:${HOST}` : app.listeningOrigin
  const location = describeStore(configuration)
  const shownToken = ACCESS_TOKENS === undefined ? generatedToken : undefined
  if (process.env.NODE_ENV !== 'production') {
    process.stdout.write(banner(address, location, shownToken, DOCS, configuration.tls !== undefined))
  }
  log.info({ address, store: location }, `ready at ${address}`)
  const fault = await health.fault()
  if (fault !== undefined && !health.closing) log.warn(`not ready: ${fault}`)
}

/**
 * Shuts down on SIGTERM, on SIGINT and after an uncaught error. A second signal, or a shutdown that takes too long,
 * exits at once. Returns a function that shuts down likewise.
 */
function shutDownOnSignal (storeTimeout: number, logger: Logger, shutdown: () => Promise<void>): () => void {
  const delay = longestShutdown(storeTimeout)
  return closeWithGrace({
    delay,
    logger,
    // They end the process as the system does: after a fault in native code, a handler would be called forever.
    skip: ['SIGHUP', 'SIGQUIT', 'SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV', 'SIGUSR2'],
    onTimeout: () => { logger.error(`forced exit after ${delay} ms with requests pending`) }
  }, async ({ signal, err, manual }) => {
    if (err) logger.fatal({ err }, 'shutting down after an uncaught error')
    else logger.info(`${signal ?? (manual ? 'SIGHUP' : 'no more work')}: finishing pending requests, then exiting`)
    await shutdown()
    logger.info('stopped')
  }).close
}

/** Milliseconds: less than the 30 seconds that Kubernetes grants by default. */
function longestShutdown (storeTimeout: number): number {
  return Math.min(storeTimeout + 5_000, 25_000)
}

function refuseAddress (error: unknown): never {
  throw new ConfigurationError(`${messageOf(error)}: check HOST, PORT and METRICS_PORT`)
}

/** @param token the token generated for this run; those that the operator configured are never shown */
function banner (address: string, store: string, token: string | undefined, docs: boolean, isTls: boolean): string {
  const socketPath = address.startsWith('unix:') ? address.slice('unix:'.length) : undefined
  const url = socketPath === undefined ? address : `${isTls ? 'https' : 'http'}://localhost`
  const option = socketPath === undefined ? '' : `--unix-socket '${socketPath.replaceAll("'", "'\\''")}' `
  const tokenLine = token === undefined ? '' : `\n  token       ${token} (made for this run; set ACCESS_TOKENS to choose your own)`
  // With -w, the prompt of the shell begins a line of its own.
  return `
plant-store ${version}
  listens at  ${address}
  stores in   ${store}
  API         ${url}/${docs ? 'docs' : 'openapi.json'}${tokenLine}

Create a plant:

  curl -sS -w '\\n' ${option}${url}/plants -H 'Authorization: Bearer ${token ?? '<ACCESS_TOKEN>'}' -H 'Content-Type: application/json' -d '{"id":1,"name":"Monstera deliciosa","tag":"aroid"}'

`
}
