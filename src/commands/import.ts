import { messageOf } from '../error-message.js'
import { ConfigurationError, readStorePlace, type StorePlace } from '../config/configuration.js'
import { createStore, databaseFile, describeStore } from '../config/configured-store.js'
import { PlantNotStored, PlantOutcomeUnknown, type PlantStore } from '../plant-store.js'
import type { FileCommand } from './export.js'
import { runCopy, type Copy, type Tally } from './copy.js'
import { ndjsonSource, openNdjsonFile } from './sources/ndjson-source.js'
import { TransferFault, type Entry } from './sources/plant-source.js'
import { sqliteSource } from './sources/sqlite-source.js'

/** Milliseconds for which a plant is retried, and from which the driver's timeouts follow: enough for an election. */
const STORE_TIMEOUT = 60_000
/** Pages that are pending at once: memory use does not grow with the size of the source. */
const MAX_PAGES = 6
/** After this many failures in a row, the store is at fault, not the plants. */
const MAX_FAILED = 100

/** `plant-store import`: stores the plant of each line of NDJSON in the configured store; returns the exit code. */
export async function importPlants (env: NodeJS.ProcessEnv, { file, quiet }: FileCommand): Promise<number> {
  const place = readStorePlace(env)
  const source = file === undefined ? ndjsonSource(process.stdin, 'standard input') : await openNdjsonFile(file)
  return copyIntoStore(place, { task: 'import', source, from: file ?? 'standard input', quiet })
}

/** `plant-store migrate`: copies every plant of DATA_DIR to MONGODB_URL; returns the exit code. */
export async function migrate (env: NodeJS.ProcessEnv, { quiet }: { quiet: boolean }): Promise<number> {
  const place = readStorePlace(env)
  const { DATA_DIR, MONGODB_URL } = place
  if (MONGODB_URL === undefined) {
    throw new ConfigurationError('MONGODB_URL is not set: set it, or MONGODB_URL_FILE, to the MongoDB that the plants are copied to')
  }
  const source = await sqliteSource(databaseFile(DATA_DIR))
  return copyIntoStore(place, { task: 'migrate', source, from: describeStore({ DATA_DIR }), quiet })
}

async function copyIntoStore (place: StorePlace, copy: Pick<Copy, 'task' | 'source' | 'from' | 'quiet'>): Promise<number> {
  const store = await createStore({ ...place, STORE_TIMEOUT })
  await store.open?.()
  // An unreachable MongoDB most likely means a wrong URL; a locked database file is waited for with each plant.
  if (place.MONGODB_URL !== undefined) {
    await store.ready?.().catch((error: unknown) => { throw new TransferFault(messageOf(error)) })
  }
  try {
    return await runCopy({
      ...copy,
      to: describeStore(place),
      copy: (tally, signal) => createPlants(copy.source.pages(signal), store, tally, signal)
    })
  } finally {
    await store.close?.()
  }
}

/**
 * Creates plants through a store, which batches and retries them and reports each outcome. A copy can be interrupted
 * and run again at any time, since existing plants are not changed.
 * @param signal if aborted, the store is closed, which writes pending plants once, without retries
 */
export async function createPlants (
  pages: AsyncIterable<readonly Entry[]>, store: PlantStore, tally: Tally, signal: AbortSignal
): Promise<void> {
  /** Plants that failed since the last success: they or the store are at fault. */
  let failed: [place: string, reason: Error][] = []
  let fault: unknown

  async function create ({ place, plant }: Entry): Promise<void> {
    if (typeof plant === 'string') return tally.add('invalid', place, plant)
    try {
      const outcome = await store.create(plant, performance.now() + STORE_TIMEOUT)
      if (outcome === 'stored') tally.copied++
      else if (outcome === 'same') tally.alreadyThere++
      else tally.add('inConflict', place, `another plant has the id ${plant.id}`)
      if (fault === undefined && !signal.aborted) blamePlants()
    } catch (reason) {
      if (!(reason instanceof PlantNotStored || reason instanceof PlantOutcomeUnknown)) fault ??= reason
      else if (failed.push([place, reason]) >= MAX_FAILED) blameStore(reason)
    }
  }

  function blamePlants (): void {
    for (const [place, reason] of failed) {
      const outcome = reason instanceof PlantOutcomeUnknown ? 'it may have been stored' : 'it was not stored'
      tally.add('invalid', place, `${outcome}: ${reason.message}`)
    }
    failed = []
  }

  function blameStore (reason: unknown): void {
    fault ??= new TransferFault(`${messageOf(reason)}: run it again to continue`)
  }

  signal.addEventListener('abort', () => { store.close?.() })
  const pending = new Set<Promise<unknown>>()
  try {
    for await (const page of pages) {
      const created = Promise.all(page.map(create)).finally(() => pending.delete(created))
      pending.add(created)
      if (pending.size >= MAX_PAGES) await Promise.race(pending)
      if (fault !== undefined || signal.aborted) break
    }
  } finally {
    await Promise.all(pending)
  }
  signal.throwIfAborted()
  if (failed.length > 0) await store.ready?.().catch(blameStore)
  if (fault !== undefined) throw fault
  blamePlants()
}
