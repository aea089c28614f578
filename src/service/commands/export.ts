import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { readStoreLocation, type StoreLocation } from '../configuration/configuration.js'
import { databaseFile, unusableUrl } from '../configured-store.js'
import type { Command, Surroundings } from './command-line.js'
import { createFile } from './new-file.js'
import { runCopy, type Tally } from './run-copy.js'
import type { Entry, PlantSource } from './sources/plant-source.js'

/** `plant-store export`: writes every plant of the configured store as a line of NDJSON; returns the exit code. */
export async function exportPlants (command: Command, surroundings: Surroundings): Promise<number> {
  const { file } = command
  const { env, stdout } = surroundings
  const location = readStoreLocation(env)
  const isFile = file !== '-'
  // On a terminal the plants themselves show the progress.
  const quiet = command.quiet || (!isFile && stdout.isTTY === true)
  const source = await openSource(location)
  return runCopy({ ...command, quiet }, location, source, surroundings, async (pages, tally, signal) => {
    if (!isFile) return writeLines(pages, stdout, tally, signal)
    // An interruption may come before the file is opened: then it must not be created again.
    await createFile(file, path => writeLines(pages, createWriteStream(path, { flags: 'r+' }), tally, signal))
  })
}

async function openSource (location: StoreLocation): Promise<PlantSource> {
  const { MONGODB_URL, DATA_DIR } = location
  // The driver takes a tenth of a second to load.
  if (MONGODB_URL === undefined) {
    const { sqliteSource } = await import('./sources/sqlite-source.js')
    return sqliteSource(databaseFile(DATA_DIR))
  }
  const { mongoSource } = await import('./sources/mongo-source.js')
  try {
    return mongoSource(MONGODB_URL)
  } catch (error) {
    throw unusableUrl(location, error)
  }
}

/** Writes plants to a stream, one per line, no faster than it takes them, and ends it. */
export async function writeLines (
  pages: AsyncIterable<readonly Entry[]>, output: Writable, tally: Tally, signal: AbortSignal
): Promise<void> {
  await pipeline(async function * () {
    for await (const page of pages) {
      // Standard output cannot be destroyed, which would end the pipeline.
      signal.throwIfAborted()
      let lines = ''
      for (const { where, plant } of page) {
        if (typeof plant === 'string') {
          tally.add('invalid', where, plant)
        } else {
          const { id, ...fields } = plant
          lines += `{"id":${id},${JSON.stringify(fields).slice(1)}\n`
          tally.copied++
        }
      }
      yield lines
    }
  }, output, { signal })
}
