import { ConfigurationError, readStoreLocation, type StoreLocation } from '../configuration/configuration.js'
import { createStore, databaseFile } from '../configured-store.js'
import { messageOf } from '../../error-message.js'
import type { PlantStore } from '../../stores/store.js'
import type { Command, Surroundings } from './command-line.js'
import { runCopy, type Tally } from './run-copy.js'
import { ndjsonSource } from './sources/ndjson-source.js'
import { CopyError, type Entry, type PlantSource } from './sources/plant-source.js'
import { sqliteSource } from './sources/sqlite-source.js'

/** Milliseconds for which a plant is retried, and from which the driver's timeouts follow: enough for an election. */
const STORE_TIMEOUT = 60_000
/** Pages that are pending at once: memory use does not grow with the size of the source. */
const MAX_PAGES = 6

/** `plant-store import`: stores the plant of each line of NDJSON in the configured store; returns the exit code. */
export async function importPlants (command: Command, surroundings: Surroundings): Promise<number> {
  const { file } = command
  const { env, stderr } = surroundings
  const location = readStoreLocation(env)
  const isTyped = file === '-' && process.stdin.isTTY
  if (isTyped && !command.quiet) stderr.write('import: reading from the keyboard: type a plant per line, as {"id":1,"name":"Fern"}, then Ctrl-D\n')
  // Progress would be shown over the line that is being typed.
  const quiet = command.quiet || isTyped
  return copyToStore({ ...command, quiet }, location, ndjsonSource(file), surroundings)
}

/** `plant-store migrate`: copies every plant of DATA_DIR to MONGODB_URL; returns the exit code. */
export async function migrate (command: Command, surroundings: Surroundings): Promise<number> {
  const location = readStoreLocation(surroundings.env)
  if (location.MONGODB_URL === undefined) throw new ConfigurationError('MONGODB_URL is not set: set it, or MONGODB_URL_FILE, to the MongoDB that the plants are copied to')
  return copyToStore(command, location, await sqliteSource(databaseFile(location.DATA_DIR)), surroundings)
}

async function copyToStore (
  command: Command, location: StoreLocation, source: PlantSource, surroundings: Surroundings
): Promise<number> {
  const store = await createStore({ ...location, STORE_TIMEOUT })
  await store.open?.()
  try {
    // An unreachable MongoDB most likely means a wrong URL; a locked database file is waited for with each plant.
    if (location.MONGODB_URL !== undefined) await requireReady(store)
    return await runCopy(command, location, source, surroundings, (...copy) => createPlants(store, ...copy))
  } finally {
    await store.close?.()
  }
}

/** Creates plants through a store. Interrupted, or after a fault, it closes the store, which settles pending plants. */
export async function createPlants (
  store: PlantStore, pages: AsyncIterable<readonly Entry[]>, tally: Tally, interruption: AbortSignal
): Promise<void> {
  const failure = new AbortController()
  const stop = AbortSignal.any([interruption, failure.signal])
  stop.addEventListener('abort', () => { store.close?.() })

  async function createEntry ({ where, plant }: Entry): Promise<void> {
    if (typeof plant === 'string') return tally.add('invalid', where, plant)
    try {
      const outcome = await store.create(plant, performance.now() + STORE_TIMEOUT)
      if (outcome === 'stored') tally.copied++
      else if (outcome === 'same') tally.alreadyThere++
      else tally.add('inConflict', where, `another plant has the id ${plant.id}`)
    } catch (error) {
      const reason = await reasonOf(error, store).catch(fault => failure.abort(fault))
      if (reason !== undefined && !stop.aborted) tally.add('invalid', where, reason)
    }
  }

  const pending = new Set<Promise<unknown>>()
  try {
    for await (const page of pages) {
      const created = Promise.all(page.map(createEntry)).finally(() => pending.delete(created))
      pending.add(created)
      if (pending.size >= MAX_PAGES) await Promise.race(pending)
      if (stop.aborted) break
    }
  } finally {
    await Promise.all(pending)
  }
  stop.throwIfAborted()
}

/** What an error means for the plant, by its name: a store may come from another copy of this package. */
const meanings = new Map([
  ['PlantNotStored', 'it was not stored'],
  ['PlantOutcomeUnknown', 'it may have been stored']
])

/** Why a plant was not stored, though the store is ready; throws a CopyError if it is not. */
async function reasonOf (error: unknown, store: PlantStore): Promise<string> {
  const meaning = error instanceof Error ? meanings.get(error.name) : undefined
  if (meaning === undefined) throw error
  await requireReady(store)
  return `${meaning}: ${messageOf(error)}`
}

async function requireReady (store: PlantStore): Promise<void> {
  await store.ready?.().catch(fault => { throw new CopyError(messageOf(fault)) })
}
