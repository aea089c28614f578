import { existsSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import type * as BuildServer from '../../src/server/build-server.js'
import type * as HealthRoutes from '../../src/server/health-routes.js'
import type * as Logger from '../../src/server/logger.js'
import type { PlantStore } from '../../src/stores/plant-store.js'
import { announce, endOnSignal, token } from './announce.js'

/*
 * The service as it runs, with a store that answers at once: all of the hot path, no storage. Taken from dist, compiled
 * as in production (tsx would add to each closure that has a name); from src only where nothing has been built.
 */
const isBuilt = existsSync(new URL('../../dist/server/build-server.js', import.meta.url))
async function own<T> (module: string): Promise<T> {
  return await import(new URL(isBuilt ? `../../dist/server/${module}.js` : `../../src/server/${module}.ts`, import.meta.url).href)
}
const { buildServer } = await own<typeof BuildServer>('build-server')
const { Health } = await own<typeof HealthRoutes>('health-routes')
const { createLogger } = await own<typeof Logger>('logger')

const stored = Promise.resolve('stored' as const)
const store: PlantStore = { create: () => stored }

const app = await buildServer({
  configuration: { BODY_LIMIT: 1_048_576, STORE_TIMEOUT: 10_000, QUEUE_LIMIT: 10_000, ACCESS_LOG: false },
  store,
  tokens: [token],
  health: new Health(store),
  log: await createLogger({ LOG_LEVEL: 'info', ACCESS_LOG: false }, process.stdout)
})
await app.listen({ port: 0, host: '127.0.0.1' })
announce((app.server.address() as AddressInfo).port)
endOnSignal(async () => {
  app.server.closeAllConnections()
  await app.close()
})
