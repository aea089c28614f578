import { messageOf } from '../error-message.js'
import { ConfigurationError, readStorePlace, type StorePlace } from '../service/config/configuration.js'
import { createStore, databaseFile, describeStore } from '../service/create-store.js'
import type { FileCommand } from './export-plants.js'
import { runCopy, type Copy } from './run-copy.js'
import { ndjsonSource, openNdjsonFile } from './sources/ndjson-source.js'
import { sqliteSource } from './sources/sqlite-source.js'
import { createPlants } from './targets/store-target.js'
import { TransferFault } from './transfer-fault.js'

/** Milliseconds from which the MongoDB driver's timeouts follow: long enough for an election. */
const STORE_TIMEOUT = 60_000

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
