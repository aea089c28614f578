import { messageOf } from '../error-message.js'
import { ConfigurationError, readStoreLocation, type StoreLocation } from '../config/configuration.js'
import { createStore, databaseFile, describeStore } from '../config/configured-store.js'
import { PlantNotStored, PlantOutcomeUnknown, type PlantStore } from '../stores/plant-store.js'
import type { Command } from './command-line.js'
import { runCopy, type Tally } from './copy.js'
import { ndjsonSource } from './sources/ndjson-source.js'
import { CopyError, type Entry, type PlantSource } from './sources/plant-source.js'
import { sqliteSource } from './sources/sqlite-source.js'
import type { Task } from './terminal.js'

/** Milliseconds for which a plant is retried, and from which the driver's timeouts follow: enough for an election. */
const STORE_TIMEOUT = 60_000
/** Pages that are pending at once: memory use does not grow with the size of the source. */
const MAX_PAGES = 6

const requireReady = (store: PlantStore) => store.ready?.().catch(reason => { throw new CopyError(messageOf(reason)) })

/** `plant-store import`: stores the plant of each line of NDJSON in the configured store; returns the exit code. */
export async function importPlants (env: NodeJS.ProcessEnv, { file, quiet }: Command): Promise<number> {
  const location = readStoreLocation(env)
  const task = { name: 'import', from: file === '-' ? 'standard input' : file, to: describeStore(location), quiet } as const
  return copyIntoStore(task, await ndjsonSource(file), location)
}

/** `plant-store migrate`: copies every plant of DATA_DIR to MONGODB_URL; returns the exit code. */
export async function migrate (env: NodeJS.ProcessEnv, { quiet }: Command): Promise<number> {
  const location = readStoreLocation(env)
  const { DATA_DIR, MONGODB_URL } = location
  if (MONGODB_URL === undefined) throw new ConfigurationError('MONGODB_URL is not set: set it, or MONGODB_URL_FILE, to the MongoDB that the plants are copied to')
  const task = { name: 'migrate', from: describeStore({ DATA_DIR }), to: describeStore(location), quiet } as const
  return copyIntoStore(task, await sqliteSource(databaseFile(DATA_DIR)), location)
}

async function copyIntoStore (task: Task, source: PlantSource, location: StoreLocation): Promise<number> {
  const store = await createStore({ ...location, STORE_TIMEOUT })
  await store.open?.()
  try {
    // An unreachable MongoDB most likely means a wrong URL; a locked database file is waited for with each plant.
    if (location.MONGODB_URL !== undefined) await requireReady(store)
    return await runCopy(task, source, (...copy) => createPlants(store, ...copy))
  } finally {
    await store.close?.()
  }
}

/**
 * Creates plants through a store, which batches and retries them and reports each outcome. A copy can be interrupted
 * and run again at any time, since existing plants are not changed.
 * If it is aborted, or fails, it closes the store, which writes pending plants once, without retries.
 */
export async function createPlants (
  store: PlantStore, pages: AsyncIterable<readonly Entry[]>, tally: Tally, signal: AbortSignal
): Promise<void> {
  const failure = new AbortController()
  const stop = AbortSignal.any([signal, failure.signal])
  stop.addEventListener('abort', () => { store.close?.() })

  async function create ({ where, plant }: Entry): Promise<void> {
    if (typeof plant === 'string') return tally.add('invalid', where, plant)
    try {
      const outcome = await store.create(plant, performance.now() + STORE_TIMEOUT)
      if (outcome === 'stored') tally.copied++
      else if (outcome === 'same') tally.alreadyThere++
      else tally.add('inConflict', where, `another plant has the id ${plant.id}`)
    } catch (error) {
      const isUnknown = error instanceof PlantOutcomeUnknown
      // If the store is not ready, it is at fault, and not the plant.
      if (isUnknown || error instanceof PlantNotStored) await requireReady(store)?.catch(fault => failure.abort(fault))
      else failure.abort(error)
      if (!stop.aborted) tally.add('invalid', where, `${isUnknown ? 'it may have been stored' : 'it was not stored'}: ${messageOf(error)}`)
    }
  }

  const pending = new Set<Promise<unknown>>()
  try {
    for await (const page of pages) {
      const created = Promise.all(page.map(create)).finally(() => pending.delete(created))
      pending.add(created)
      if (pending.size >= MAX_PAGES) await Promise.race(pending)
      if (stop.aborted) break
    }
  } finally {
    await Promise.all(pending)
  }
  stop.throwIfAborted()
}
