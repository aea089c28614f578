import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { ConfigurationError, readStorePlace, type StorePlace } from '../service/config/configuration.js'
import { databaseFile, describeStore } from '../service/create-store.js'
import { interruption, runCopy, type Copy } from './run-copy.js'
import type { PlantSource } from './sources/plant-source.js'
import { ndjsonTarget } from './targets/ndjson-target.js'
import { withNewFile } from './targets/new-file.js'
import { unwritable } from './transfer-fault.js'

export interface FileCommand {
  /** Undefined: standard output or input. */
  file: string | undefined
  quiet: boolean
}

/** `plant-store export`: writes every plant of the configured store as a line of NDJSON; returns the exit code. */
export async function exportPlants (env: NodeJS.ProcessEnv, { file, quiet }: FileCommand): Promise<number> {
  const place = readStorePlace(env)
  const signal = interruption()
  const source = await openSource(place)
  const copyTo = (output: Writable, to: string, options: Partial<Copy>): Promise<number> => runCopy({
    task: 'export',
    source,
    from: describeStore(place),
    to,
    target: tally => ndjsonTarget(output, to, tally, signal),
    quiet,
    signal,
    ...options
  })
  if (file === undefined) {
    // On a terminal the plants themselves show the progress.
    const code = await copyTo(process.stdout, 'standard output', { quiet: quiet || process.stdout.isTTY })
    // Unwritten data on standard output would keep the process alive until it is read.
    if (signal.aborted) process.stderr.write('', () => process.exit(code))
    return code
  }
  return withNewFile(file, async (partialPath, publish) => {
    const output = createWriteStream(partialPath)
    try {
      return await copyTo(output, file, {
        publish: async () => {
          await finished(output.end()).catch((error: unknown) => { throw unwritable(file, error) })
          await publish()
        }
      })
    } finally {
      output.destroy()
    }
  })
}

async function openSource ({ MONGODB_URL, DATA_DIR }: StorePlace): Promise<PlantSource> {
  // The driver takes a tenth of a second to load.
  if (MONGODB_URL === undefined) return (await import('./sources/sqlite-source.js')).openSqliteFile(databaseFile(DATA_DIR))
  const { connectMongo } = await import('./sources/mongo-source.js')
  try {
    return await connectMongo(MONGODB_URL)
  } catch (error) {
    if (error instanceof TypeError) throw new ConfigurationError(`MONGODB_URL cannot be used: ${error.message}`)
    throw error
  }
}
