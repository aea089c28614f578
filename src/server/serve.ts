import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import type { AddressInfo } from 'node:net'
import closeWithGrace from 'close-with-grace'
import { mongoPlantStore } from '../stores/mongo-plant-store.js'
import type { PlantStore } from '../stores/plant-store.js'
import { sqlitePlantStore } from '../stores/sqlite-plant-store.js'
import { buildServer } from './build-server.js'
import { ConfigurationError, readConfiguration, type Configuration } from './configuration.js'
import { drain } from './drain.js'
import { firstScreen } from './first-screen.js'
import { Health } from './health-routes.js'
import { createLogger } from './logger.js'

/** Milliseconds that an end may take, and that silent connections are waited for in it. */
const END = 10_000
const SILENCE = 1_000

/**
 * Runs the service as this process: reads the environment, listens, and ends on SIGTERM and SIGINT.
 * @throws {ConfigurationError} where the environment cannot be used
 * @throws {StoreUnusable} where the store can never be opened
 */
export async function serve (): Promise<void> {
  const configuration = readConfiguration(process.env)
  const { HOST, PORT } = configuration
  const log = createLogger(configuration.LOG_LEVEL, process.stdout)
  const madeToken = configuration.ACCESS_TOKENS === undefined ? randomBytes(24).toString('base64url') : undefined
  const { store, place } = storeOf(configuration)
  await store.open?.()

  const health = new Health(store)
  const app = await buildServer({
    configuration, store, health, log, tokens: configuration.ACCESS_TOKENS ?? [madeToken as string]
  })

  closeWithGrace({ delay: END, logger: log }, async ({ signal, err }) => {
    if (err) log.fatal({ err }, 'ends after a fault')
    else log.info(`${signal ?? 'no more work'}: answers what has come, then ends`)
    health.close()
    await drain(app.server, SILENCE)
    await app.close()
    await store.close?.()
    log.info('ended')
  })

  await app.listen({ host: HOST, port: PORT })
  const address = addressOf(app.server.address() as AddressInfo)
  if (process.env.NODE_ENV !== 'production') process.stdout.write(firstScreen({ address, store: place, madeToken }))
  log.info({ address, store: place }, `ready at ${address}`)

  const fault = await health.fault()
  if (fault !== undefined) log.warn(`not ready yet: ${fault}`)
}

function storeOf ({ MONGODB_URL, DATA_DIR, STORE_TIMEOUT }: Configuration): { store: PlantStore, place: string } {
  if (MONGODB_URL === undefined) {
    const path = join(resolve(DATA_DIR), 'plants.db')
    return { store: sqlitePlantStore({ path }), place: `SQLite, ${path}` }
  }
  try {
    const hosts = MONGODB_URL.replace(/^mongodb(?:\+srv)?:\/\/(?:[^@/]*@)?([^/?]*).*$/, '$1')
    return { store: mongoPlantStore({ url: MONGODB_URL, storeTimeout: STORE_TIMEOUT }), place: `MongoDB, ${hosts}` }
  } catch (error) {
    throw new ConfigurationError(`MONGODB_URL cannot be used: ${(error as Error).message}`)
  }
}

function addressOf ({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
