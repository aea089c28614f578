import { connectionFault } from '../../stores/mongo-connection-fault.js'
import { connectionTo, databaseOf, mongoPlantStore, plantsOf } from '../../stores/mongo-plant-store.js'
import { StoreUnusable } from '../../stores/plant-store.js'
import { ConfigurationError, readMigration } from '../configuration.js'
import { databaseFile, placeOf } from '../store-of.js'
import { checkIds } from './check-ids.js'
import { copyPlants } from './copy-plants.js'
import { PlantsFile } from './plants-file.js'
import { Progress } from './progress.js'

/** Milliseconds from which the driver's own limits follow: an election may take its time. */
const STORE_TIMEOUT = 60_000

/**
 * `plant-store migrate`: copies every plant of DATA_DIR to MONGODB_URL, then looks up every id there. Progress and what was
 * left goes to standard error, the sums to standard output.
 * @returns the exit code: 0 where every plant is there, 1 where not
 * @throws {ConfigurationError} where the environment cannot be used
 * @throws {StoreUnusable} where either side cannot be reached
 */
export async function migrate (env: NodeJS.ProcessEnv): Promise<number> {
  const { DATA_DIR, MONGODB_URL } = readMigration(env)
  const file = await PlantsFile.open(databaseFile(DATA_DIR))
  const client = connected(MONGODB_URL)
  const interruption = new AbortController()
  const { signal } = interruption
  // A second signal ends the process at once, as the listener is gone.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interruption.abort())
  const { stdout, stderr } = process
  try {
    await client.connect().catch((error: unknown) => { throw new StoreUnusable(connectionFault(error)) })
    const plants = plantsOf(databaseOf(client))
    const store = mongoPlantStore({ collection: plants })
    await store.open?.()
    const total = file.count()
    stderr.write(`from  ${placeOf({ DATA_DIR, MONGODB_URL: undefined })}, ${total.toLocaleString('en')} plants\nto    ${placeOf({ DATA_DIR, MONGODB_URL })}, ${plants.namespace}\n`)

    const copying = new Progress(stderr, 'copy', total)
    const counts = await copyPlants(file, store, {
      signal,
      onProgress: done => copying.update(done),
      onLeft: (id, reason) => copying.line(`left: id ${id}: ${reason}`)
    })
    await store.close?.()
    const { moved, alreadyThere, inConflict, unreadable, fault } = counts
    copying.end(moved + alreadyThere + inConflict + unreadable)
    const sums = `moved ${moved}, already there ${alreadyThere}, in conflict ${inConflict}${unreadable > 0 ? `, unreadable ${unreadable}` : ''}`
    if (signal.aborted || fault !== undefined) {
      stdout.write(`${sums}\nnot finished: ${fault?.message ?? 'interrupted'}: run it again to go on\n`)
      return 1
    }

    const checking = new Progress(stderr, 'check', total)
    const { found, missing } = await checkIds(file, plants, {
      signal,
      onProgress: done => checking.update(done),
      onMissing: id => checking.line(`missing: id ${id}`)
    })
    checking.end(found + missing)
    const complete = signal.aborted ? 'not finished: interrupted: run it again' : missing > 0 ? `${missing} ids are missing: run it again` : `all ${found} ids are there`
    stdout.write(`${sums}\n${complete}\n`)
    return signal.aborted || missing + inConflict + unreadable > 0 ? 1 : 0
  } finally {
    file.close()
    await client.close()
  }
}

function connected (url: string): ReturnType<typeof connectionTo> {
  try {
    return connectionTo(url, STORE_TIMEOUT)
  } catch (error) {
    throw new ConfigurationError(`MONGODB_URL cannot be used: ${(error as Error).message}`)
  }
}
