import type { FastifyInstance } from 'fastify'
import { messageOf } from './error-message.js'
import type { PlantStore } from './stores/store.js'

/**
 * Opens a store, and closes it with the app if this call opened it.
 * @param closeTimeout milliseconds that the app waits for the store to close
 * @throws what `open` throws; an Error in any case, since Fastify takes a rejection with `undefined` for a success
 */
export async function openStore (app: FastifyInstance, store: PlantStore, closeTimeout: number): Promise<void> {
  try {
    const isOpened = await store.open?.() === true
    if (isOpened) app.addHook('onClose', () => closeStore(store, closeTimeout))
  } catch (error) {
    throw error instanceof Error ? error : new Error(`the store could not be opened: ${messageOf(error)}`)
  }
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
