import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { parsePlantLine } from '../plant-line.js'
import { unreadable } from '../transfer-fault.js'
import { SourcePage, type PlantSource } from './plant-source.js'
import { lineSplitter, type Line } from './split-lines.js'

/** In bytes: more than the largest MongoDB document takes with every character escaped. */
const MAX_LINE_BYTES = 2 ** 27
const CHUNK_BYTES = 2 ** 16

/** @throws {TransferFault} if the file cannot be opened */
export async function openNdjsonFile (path: string): Promise<PlantSource> {
  try {
    const file = await open(path)
    const stats = await file.stat()
    if (stats.isDirectory()) {
      await file.close()
      throw new Error('it is a folder')
    }
    const stream = createReadStream(path, { fd: file, highWaterMark: CHUNK_BYTES })
    return ndjsonSource(stream, path, stats.isFile() ? stats.size : undefined)
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** Plants in NDJSON, one per line, from a stream of this many bytes; blank lines are skipped. */
export function ndjsonSource (input: Readable, name: string, size?: number): PlantSource {
  let position = 0
  return {
    size,
    get position () { return position },
    async * pages (signal) {
      if (signal.aborted) return
      const lines = lineSplitter(MAX_LINE_BYTES)
      const stop = (): void => { input.destroy() }
      signal.addEventListener('abort', stop)
      try {
        for await (const chunk of input) {
          position += chunk.length
          yield pageOf(lines.push(chunk))
          if (signal.aborted) return
        }
        yield pageOf(lines.end())
      } catch (error) {
        // Iterating over a destroyed stream throws.
        if (!signal.aborted) throw unreadable(name, error)
      } finally {
        signal.removeEventListener('abort', stop)
      }
    },
    async close () { input.destroy() }
  }
}

function pageOf (lines: Iterable<Line>): SourcePage {
  const page = new SourcePage()
  for (const { number, bytes } of lines) {
    if (bytes !== null && isBlank(bytes)) continue
    const plant = bytes === null ? `it is longer than ${MAX_LINE_BYTES} bytes` : parsePlantLine(bytes)
    if (typeof plant === 'string') page.invalid.push({ place: `line ${number}`, reason: plant })
    else page.add(plant, number)
  }
  return page
}

/** Whether a line consists of JSON's white space only. */
function isBlank (line: Buffer): boolean {
  return line.every(byte => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}
