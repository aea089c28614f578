import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ConfigurationError, readStoreLocation, type StoreLocation } from '../config/configuration.js'
import { databaseFile, describeStore } from '../config/configured-store.js'
import type { Command } from './command-line.js'
import { runCopy, type Tally } from './copy.js'
import { createFile, requireAbsence } from './new-file.js'
import type { Entry, PlantSource } from './sources/plant-source.js'

const CHUNK_CHARACTERS = 2 ** 16

/** `plant-store export`: writes every plant of the configured store as a line of NDJSON; returns the exit code. */
export async function exportPlants (env: NodeJS.ProcessEnv, { file, quiet }: Command): Promise<number> {
  const { stdout, stderr } = process
  const location = readStoreLocation(env)
  const isFile = file !== '-'
  if (isFile) await requireAbsence(file)
  const code = await runCopy({
    name: 'export',
    source: await openSource(location),
    from: describeStore(location),
    to: isFile ? file : 'standard output',
    // On a terminal the plants themselves show the progress.
    quiet: quiet || (!isFile && stdout.isTTY)
  }, async (pages, tally, signal) => {
    if (isFile) await createFile(file, path => writeLines(pages, createWriteStream(path), tally, signal))
    else await writeLines(pages, stdout, tally, signal)
  })
  // The connections of a source that was not read would keep the process alive, as would unwritten data on standard
  // output after an interruption.
  stderr.write('', () => process.exit(code))
  return code
}

async function openSource ({ MONGODB_URL, DATA_DIR }: StoreLocation): Promise<PlantSource> {
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
      for (const { where, plant } of page) {
        if (typeof plant === 'string') {
          tally.add('invalid', where, plant)
        } else {
          const { id, ...fields } = plant
          lines += `{"id":${id},${JSON.stringify(fields).slice(1)}\n`
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
