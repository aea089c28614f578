import { randomBytes } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf } from '../error-message.js'
import { BearerTokens } from '../route/bearer-tokens.js'
import { StoreUnusable } from '../plant-store.js'
import { ConfigurationError, readConfiguration } from '../config/configuration.js'
import { createStore, describeStore } from '../config/configured-store.js'
import { changeCertificate } from './http/http-server.js'
import { shutdownTimeoutMs } from './http/shutdown.js'
import { isSocketPath, removeStaleSocket } from './http/unix-socket.js'
import { logReadiness } from './logging/conditions.js'
import { createLogger } from './logging/logger.js'
import { startupBanner } from './logging/startup-banner.js'
import { reloadOnHangup, shutDownOnSignal } from './signals.js'

/** Runs the service, until a signal ends it; throws a ConfigurationError or a StoreUnusable if it cannot start. */
export async function serve (): Promise<void> {
  const configuration = readConfiguration(process.env)
  const { HOST, PORT, METRICS_PORT, ACCESS_TOKENS, DOCS, tls } = configuration
  const log = await createLogger(configuration, process.stdout)
  const madeToken = randomBytes(24).toString('base64url')
  const tokens = new BearerTokens(ACCESS_TOKENS ?? [madeToken])
  const metrics = METRICS_PORT === undefined ? undefined : new (await import('./metrics/service-metrics.js')).ServiceMetrics()
  if (tls !== undefined) metrics?.observeCertificate(tls)
  const servers: Server[] = []

  // Before anything is started, so that a signal during startup is a clean stop.
  let shutdown = async (): Promise<void> => {}
  shutDownOnSignal(shutdownTimeoutMs(configuration.STORE_TIMEOUT), log, async () => shutdown())
  reloadOnHangup(log, ({ ACCESS_TOKENS, tls }) => {
    tokens.replace(ACCESS_TOKENS ?? [madeToken])
    if (tls === undefined) return
    // Of servers that are made later, too.
    configuration.tls = tls
    for (const server of servers) changeCertificate(server, tls)
    metrics?.observeCertificate(tls)
  })

  if (isSocketPath(HOST)) await removeStaleSocket(HOST)
  const store = await createStore(configuration)
  // Fastify is loaded while the store opens, and only if the configuration is valid.
  const [{ createApp }, { Health }] = await Promise.all([
    import('./app.js'),
    import('./health.js'),
    store.open?.().catch(error => { throw new StoreUnusable(messageOf(error)) })
  ])
  const health = new Health(store)
  health.watchEventLoop()
  const app = await createApp({ configuration, store, health, log, metrics, tokens, servers })
  await app.listen(isSocketPath(HOST) ? { path: HOST } : { host: HOST, port: PORT }).catch(refuseAddress)
  // Allows the owner and the group to connect, for example a proxy.
  if (isSocketPath(HOST)) await chmod(HOST, 0o660)
  const stopLog = logReadiness(async () => health.fault(), log)
  shutdown = async () => {
    stopLog()
    await app.close()
    await store.close?.()
  }

  if (metrics !== undefined && METRICS_PORT !== undefined) {
    const { serveMetrics } = await import('./metrics/serve-metrics.js')
    const host = isSocketPath(HOST) ? '127.0.0.1' : HOST
    const port = await serveMetrics(host, METRICS_PORT, metrics.registry).catch(refuseAddress)
    log.info({ port }, `metrics on port ${port}, path /metrics`)
  }
  const address = addressOf(app.server.address(), tls === undefined ? 'http' : 'https')
  const place = describeStore(configuration)
  if (process.env.NODE_ENV !== 'production') {
    process.stdout.write(startupBanner(address, place, ACCESS_TOKENS === undefined ? madeToken : undefined, DOCS))
  }
  log.info({ address, store: place }, `ready at ${address}`)
  log.flush()
}

function refuseAddress (error: unknown): never {
  throw new ConfigurationError(`${messageOf(error)}: check HOST, PORT and METRICS_PORT`)
}

function addressOf (address: AddressInfo | string | null, scheme: string): string {
  // A string is the path of a Unix socket.
  if (address === null || typeof address === 'string') return `unix:${address}`
  return `${scheme}://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
}
