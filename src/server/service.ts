import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { BearerTokens } from '../bearer-tokens.js'
import { StoreUnusable, type PlantStore } from '../stores/plant-store.js'
import type { Configuration } from './configuration.js'
import { drain, type DrainOptions } from './drain.js'
import { EventLoopLag } from './event-loop-lag.js'
import { Health } from './health-routes.js'
import { changeCertificate } from './http-server.js'
import type { Running } from './running.js'
import { storeOf } from './store-of.js'

/** Milliseconds that connections which stay silent are waited for at the end. */
const SILENCE = 1_000

export interface ServiceOptions {
  /** With access tokens. */
  configuration: Configuration
  log: FastifyBaseLogger
  /** Where other processes share the port. */
  together?: DrainOptions['together']
}

/**
 * Runs the service in this process.
 * @throws {ConfigurationError} where the store cannot be made of the configuration
 * @throws {StoreUnusable} where the store can never be opened
 */
export async function startService ({ configuration, log, together }: ServiceOptions): Promise<Running> {
  const { HOST, PORT, METRICS_PORT, ACCESS_TOKENS = [], tls } = configuration
  const plain = await storeOf(configuration)
  // Fastify is loaded while the store opens.
  const [{ buildServer }] = await Promise.all([import('./build-server.js'), opened(plain)])
  const metrics = METRICS_PORT === undefined ? undefined : new (await import('./metrics.js')).Metrics()
  const store = metrics?.watch(plain) ?? plain
  const eventLoop = new EventLoopLag()
  const health = new Health(store, eventLoop)
  const servers: Server[] = []
  let tokens = new BearerTokens(ACCESS_TOKENS)
  const app = await buildServer({
    configuration,
    store,
    health,
    log,
    metrics,
    tokens: token => tokens.accepts(token),
    onServer: server => { servers.push(server) }
  })
  await app.listen({ host: HOST, port: PORT })

  health.fault().then(fault => {
    if (fault !== undefined) log.warn(`not ready yet: ${fault}`)
  })

  return {
    address: addressOf(app.server.address() as AddressInfo, tls === undefined ? 'http' : 'https'),
    reload ({ ACCESS_TOKENS = [], tls }) {
      tokens = new BearerTokens(ACCESS_TOKENS)
      if (tls !== undefined) for (const server of servers) changeCertificate(server, tls)
    },
    async end () {
      health.close()
      // Of the servers that were made, those for an address that could not be had never listened.
      const listening = servers.filter(server => server.listening)
      await drain(listening, { patience: SILENCE, ...(together && { together }) })
      await app.close()
      await store.close?.()
      eventLoop.stop()
      metrics?.close()
    },
    kill () {},
    async metrics () {
      return metrics === undefined ? [] : [await metrics.data()]
    }
  }
}

/** Whatever is wrong with the store, the operator has to do something about it. */
async function opened (store: PlantStore): Promise<void> {
  try {
    await store.open?.()
  } catch (error) {
    throw error instanceof StoreUnusable ? error : new StoreUnusable((error as Error).message, { cause: error })
  }
}

function addressOf ({ address, family, port }: AddressInfo, scheme: string): string {
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
