import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { ConfigurationError, readStorePlace, type StorePlace } from '../service/config/configuration.js'
import { databaseFile, describeStore } from '../service/create-store.js'
import { runCopy } from './run-copy.js'
import type { PlantSource } from './sources/plant-source.js'
import { writeLines } from './targets/ndjson-target.js'
import { createFile, requireAbsence } from './targets/new-file.js'

export interface FileCommand {
  /** Undefined: standard output or input. */
  file: string | undefined
  quiet: boolean
}

/** `plant-store export`: writes every plant of the configured store as a line of NDJSON; returns the exit code. */
export async function exportPlants (env: NodeJS.ProcessEnv, { file, quiet }: FileCommand): Promise<number> {
  const place = readStorePlace(env)
  if (file !== undefined) await requireAbsence(file)
  const source = await openSource(place)
  const { stdout, stderr } = process
  const code = await runCopy({
    task: 'export',
    source,
    from: describeStore(place),
    to: file ?? 'standard output',
    // On a terminal the plants themselves show the progress.
    quiet: quiet || (file === undefined && stdout.isTTY),
    async copy (tally, signal) {
      const writeTo = async (output: Writable) => writeLines(source.pages(signal), output, tally, signal)
      if (file !== undefined) await createFile(file, async partialPath => writeTo(createWriteStream(partialPath)))
      else await writeTo(stdout)
    }
  })
  // The connections of a source that was not read would keep the process alive, as would unwritten data on standard
  // output after an interruption.
  stderr.write('', () => process.exit(code))
  return code
}

async function openSource ({ MONGODB_URL, DATA_DIR }: StorePlace): Promise<PlantSource> {
  // The driver takes a tenth of a second to load.
  if (MONGODB_URL === undefined) return (await import('./sources/sqlite-source.js')).sqliteSource(databaseFile(DATA_DIR))
  const { mongoSource } = await import('./sources/mongo-source.js')
  try {
    return await mongoSource(MONGODB_URL)
  } catch (error) {
    throw error instanceof TypeError ? new ConfigurationError(`MONGODB_URL cannot be used: ${error.message}`) : error
  }
}
