import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ConfigurationError, readStorePlace, type StorePlace } from '../config/configuration.js'
import { databaseFile, describeStore } from '../config/configured-store.js'
import type { NewPlant } from '../plant-store.js'
import { createFile, requireAbsence } from './new-file.js'
import { runCopy, type Tally } from './copy.js'
import type { Entry, PlantSource } from './sources/plant-source.js'

const CHUNK_CHARACTERS = 2 ** 16

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

/** Writes plants to a stream, one per line, no faster than it takes them, and ends it. */
export async function writeLines (
  pages: AsyncIterable<readonly Entry[]>, output: Writable, tally: Tally, signal: AbortSignal
): Promise<void> {
  await pipeline(async function * () {
    let lines = ''
    for await (const page of pages) {
      // Standard output cannot be destroyed, which would end the pipeline.
      signal.throwIfAborted()
      for (const { place, plant } of page) {
        if (typeof plant === 'string') {
          tally.add('invalid', place, plant)
        } else {
          lines += formatLine(plant)
          tally.copied++
        }
      }
      if (lines.length < CHUNK_CHARACTERS) continue
      yield lines
      lines = ''
    }
    yield lines
  }, output, { signal })
}

/** Formats a plant as a line of NDJSON: the id exactly, a tag only if there is one. */
function formatLine ({ id, name, tag }: NewPlant): string {
  return `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}\n`
}
