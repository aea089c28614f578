import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { NewPlant } from '../../stores/plant-store.js'
import type { Entry } from '../sources/plant-source.js'
import type { Tally } from '../tally.js'

const CHUNK_CHARACTERS = 2 ** 16

/** Writes plants to a stream, one per line, no faster than it takes them, and ends it. */
export async function writeLines (
  pages: AsyncIterable<Iterable<Entry>>, output: Writable, tally: Tally, signal: AbortSignal
): Promise<void> {
  await pipeline(async function * () {
    let lines = ''
    for await (const page of pages) {
      // Standard output cannot be destroyed, which would end the pipeline.
      signal.throwIfAborted()
      for (const { place, plant } of page) {
        if (typeof plant === 'string') {
          tally.addInvalid(place, plant)
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
