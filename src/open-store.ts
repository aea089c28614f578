import type { FastifyInstance } from 'fastify'
import { messageOf } from './error-message.js'
import type { PlantStore } from './stores/store.js'

/**
 * Opens a store, and closes it with the app if this call opened it.
 * @param closeTimeout milliseconds that the app waits for the store to close
 * @throws what `open` throws; an Error in any case, since Fastify takes a rejection with `undefined` for a success
 */
export async function openStore (app: FastifyInstance, store: PlantStore, closeTimeout: number): Promise<void> {
  let isOpened = false
  let isAppClosed = false

  app.addHook('onClose', async () => {
    isAppClosed = true
    if (isOpened) await closeStore(store, closeTimeout)
  })
  try {
    isOpened = await store.open?.() === true
  } catch (error) {
    throw error instanceof Error ? error : new Error(`the store could not be opened: ${messageOf(error)}`)
  }
  // Fastify's pluginTimeout was over before the store was open.
  if (isAppClosed && isOpened) await closeStore(store, closeTimeout)
}

async function closeStore (store: PlantStore, timeout: number): Promise<void> {
  let timer
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`the store did not close within ${timeout} ms`)), timeout)
  })
  try {
    await Promise.race([store.close?.(), late])
  } finally {
    clearTimeout(timer)
  }
}
