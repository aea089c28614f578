import { chmod } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { BearerTokens } from '../http/bearer-tokens.js'
import type { PlantStore } from '../stores/plant-store.js'
import type { Configuration, Credentials } from './config/configuration.js'
import { openStore } from './create-store.js'
import { drain } from './http/drain.js'
import { EventLoopLag } from './http/event-loop-lag.js'
import { Health } from './http/health-routes.js'
import { changeCertificate } from './http/http-server.js'
import { isSocketPath } from './http/unix-socket.js'
import { logConditions } from './logging/condition-log.js'
import type { MetricsData } from './metrics/process-metrics.js'

export interface ServiceOptions {
  /** Opened and closed by the service. */
  store: PlantStore
  /** The configuration, in which access tokens are set. */
  configuration: Configuration
  log: FastifyBaseLogger
}

/** A running service. */
export interface RunningService {
  /** The URL where it listens. */
  readonly address: string
  /** Replaces the accepted tokens and the certificate. */
  reload (credentials: Credentials): void
  /** Responds to the requests already received; resolves once the service has stopped. */
  shutdown (): Promise<void>
  /** The metrics of each process. */
  metrics (): Promise<MetricsData[]>
}

/** Runs the service in this process; throws a StoreUnusable if the store cannot be opened. */
export async function startService ({ configuration, store, log }: ServiceOptions): Promise<RunningService> {
  const { HOST, PORT, ACCESS_TOKENS = [], METRICS_PORT, tls } = configuration
  const metrics = METRICS_PORT === undefined ? undefined : new (await import('./metrics/service-metrics.js')).ServiceMetrics()
  // Fastify is loaded while the store opens.
  const [{ createApp }] = await Promise.all([import('./app.js'), openStore(store)])
  const health = new Health(store, new EventLoopLag())
  const servers: Server[] = []
  const tokens = new BearerTokens(ACCESS_TOKENS)
  const onServer = (server: Server): void => { servers.push(server) }
  const app = await createApp({ configuration, store, health, log, metrics, tokens, onServer })
  if (tls !== undefined) metrics?.observeCertificate(tls)
  await app.listen(isSocketPath(HOST) ? { path: HOST } : { host: HOST, port: PORT })
  // Allows the owner and the group to connect, for example a proxy.
  if (isSocketPath(HOST)) await chmod(HOST, 0o660)
  const stopConditionLog = logConditions(async () => health.fault(), log)

  return {
    address: addressOf(app.server.address(), tls === undefined ? 'http' : 'https'),
    reload ({ ACCESS_TOKENS = [], tls }) {
      tokens.replace(ACCESS_TOKENS)
      if (tls === undefined) return
      for (const server of servers) changeCertificate(server, tls)
      metrics?.observeCertificate(tls)
    },
    async shutdown () {
      stopConditionLog()
      health.close()
      // Servers for an address that could not be bound never listened.
      const listening = servers.filter(server => server.listening)
      await drain(listening)
      await app.close()
      await store.close?.()
    },
    async metrics () {
      return metrics === undefined ? [] : [await metrics.data()]
    }
  }
}

function addressOf (address: AddressInfo | string | null, scheme: string): string {
  // A string is the path of a Unix socket.
  if (address === null || typeof address === 'string') return `unix:${address}`
  return `${scheme}://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
}
