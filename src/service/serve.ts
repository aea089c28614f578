import { randomBytes } from 'node:crypto'
import type { AddressInfo, Server } from 'node:net'
import { messageOf } from '../error-message.js'
import { BearerTokens } from '../route/bearer-tokens.js'
import { StoreUnusable } from '../plant-store.js'
import { ConfigurationError, isSocketPath, readConfiguration } from '../config/configuration.js'
import { createStore, describeStore } from '../config/configured-store.js'
import { version } from '../config/version.js'
import { listenOn, removeStaleSocket } from './http/listen.js'
import { changeCertificate, shutdownTimeoutMs } from './http/server.js'
import { createLogger } from './logging/logger.js'
import { reloadOnHangup, shutDownOnSignal } from './signals.js'

/**
 * Runs the service, until a signal ends it.
 * @param isOnTerminal whether SIGHUP means that the terminal was closed
 * @throws {ConfigurationError | StoreUnusable} if it cannot start
 */
export async function serve (isOnTerminal: boolean): Promise<void> {
  const configuration = readConfiguration(process.env)
  const { HOST, PORT, METRICS_PORT, ACCESS_TOKENS, DOCS, tls } = configuration
  const log = await createLogger(configuration, process.stdout)
  const generatedToken = randomBytes(24).toString('base64url')
  const tokens = new BearerTokens(ACCESS_TOKENS ?? [generatedToken])
  const metrics = METRICS_PORT === undefined ? undefined : new (await import('./metrics.js')).ServiceMetrics()
  if (tls !== undefined) metrics?.observeCertificate(tls)

  // Before anything is started, so that a signal during startup is a clean stop.
  let shutdown = async (): Promise<void> => {}
  let useCertificate = (): void => {}
  const close = shutDownOnSignal(shutdownTimeoutMs(configuration.STORE_TIMEOUT), log, async () => shutdown())
  if (isOnTerminal) {
    // The terminal and the shell may both send it.
    process.once('SIGHUP', close).on('SIGHUP', () => {})
  } else {
    reloadOnHangup(log, ({ ACCESS_TOKENS, tls }) => {
      tokens.replace(ACCESS_TOKENS ?? [generatedToken])
      if (tls === undefined) return
      configuration.tls = tls
      useCertificate()
      metrics?.observeCertificate(tls)
    })
  }

  if (isSocketPath(HOST)) await removeStaleSocket(HOST)
  const store = await createStore(configuration)
  // Fastify is loaded while the store opens, and only if the configuration is valid.
  const [{ createApp }, { Health }] = await Promise.all([
    import('./app.js'),
    import('./health.js'),
    store.open?.().catch(error => { throw new StoreUnusable(messageOf(error)) })
  ])
  const health = new Health(store)
  const listeners: Server[] = []
  const app = await createApp({ configuration, store, health, log, metrics, tokens, listeners })
  useCertificate = () => { if (configuration.tls !== undefined) changeCertificate(app.server, configuration.tls) }
  // SIGHUP may have come since the server was made.
  useCertificate()
  await app.ready()
  listeners.push(...await listenOn(app.server, HOST, PORT).catch(refuseAddress))
  // Not earlier: loading the service holds up the event loop, too.
  health.watchEventLoop()
  shutdown = async () => {
    await app.close()
    await store.close?.()
  }

  if (metrics !== undefined && METRICS_PORT !== undefined) {
    const host = isSocketPath(HOST) ? '127.0.0.1' : HOST
    const server = metrics.createServer()
    await listenOn(server, host, METRICS_PORT).catch(refuseAddress)
    const { port } = server.address() as AddressInfo
    log.info({ port }, `metrics on port ${port}, path /metrics`)
  }
  const address = isSocketPath(HOST) ? `unix:${HOST}` : app.listeningOrigin
  const location = describeStore(configuration)
  if (process.env.NODE_ENV !== 'production') {
    const token = ACCESS_TOKENS === undefined ? generatedToken : undefined
    process.stdout.write(startupBanner(address, location, token, DOCS))
  }
  log.info({ address, store: location }, `ready at ${address}`)
  log.flush()
  const fault = await health.fault()
  if (fault !== undefined && !health.closing) log.warn(`not ready: ${fault}`)
}

function refuseAddress (error: unknown): never {
  throw new ConfigurationError(`${messageOf(error)}: check HOST, PORT and METRICS_PORT`)
}

/** @param token the token generated for this run; undefined if the operator configured tokens, which are never shown */
function startupBanner (address: string, store: string, token: string | undefined, docs: boolean): string {
  const [option, url] = address.startsWith('unix:') ? [`--unix-socket '${address.slice('unix:'.length)}' `, 'http://localhost'] : ['', address]
  const tokenLine = token === undefined ? '' : `\n  token       ${token} (made for this run; set ACCESS_TOKENS to choose your own)`
  return `
plant-store ${version}
  listens at  ${address}
  stores in   ${store}
  API         ${url}/${docs ? 'docs' : 'openapi.json'}${tokenLine}

Create a plant:

  curl -sS ${option}${url}/plants -H 'Authorization: Bearer ${token ?? '<ACCESS_TOKEN>'}' -H 'Content-Type: application/json' -d '{"id":1,"name":"Monstera deliciosa","tag":"aroid"}'

`
}
