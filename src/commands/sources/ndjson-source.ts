import { open, stat } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import { parseBody } from '../../route/parse-body.js'
import { ApiError } from '../../route/errors.js'
import { validatorCompiler } from '../../route/compilers.js'
import { NewPlantSchema } from '../../route/schemas.js'
import type { NewPlant } from '../../plant-store.js'
import { unreadable, type Entry, type PlantSource } from './plant-source.js'

/** In bytes: more than the largest MongoDB document takes with every character escaped. */
const MAX_LINE_BYTES = 2 ** 27
const CHUNK_BYTES = 2 ** 16
const NEWLINE = 0x0a
/** JSON's white space, in a line. */
const BLANKS = [0x20, 0x09, 0x0d]

/** @throws {TransferFault} if the file cannot be opened */
export async function openNdjsonFile (path: string): Promise<PlantSource> {
  try {
    const stats = await stat(path)
    if (stats.isDirectory()) throw new Error('it is a folder')
    const stream = (await open(path)).createReadStream({ highWaterMark: CHUNK_BYTES })
    return ndjsonSource(stream, path, () => stats.isFile() ? stream.bytesRead / stats.size : NaN)
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** Plants in NDJSON, one per line; blank lines are skipped. */
export function ndjsonSource (input: Readable, name: string, part = () => NaN): PlantSource {
  let number = 0

  function entryOf (line: Buffer | null): Entry[] {
    const place = `line ${++number}`
    if (line === null) return [{ place, plant: `it is longer than ${MAX_LINE_BYTES} bytes` }]
    return line.every(byte => BLANKS.includes(byte)) ? [] : [{ place, plant: plantOf(line) }]
  }

  return {
    async * pages (signal) {
      try {
        for await (const lines of linesOf(addAbortSignal(signal, input), MAX_LINE_BYTES)) yield lines.flatMap(entryOf)
      } catch (error) {
        throw unreadable(name, error)
      }
    },
    part
  }
}

/**
 * Splits chunks into lines, those of each chunk together, and buffers no more than one incomplete line.
 * @param limit the length of the longest line, in bytes: a longer one is null
 */
export async function * linesOf (chunks: AsyncIterable<Buffer>, limit: number): AsyncGenerator<(Buffer | null)[]> {
  let pieces: Buffer[] = []
  let length = 0

  function add (piece: Buffer): void {
    length += piece.length
    if (length > limit) pieces = []
    else pieces.push(piece)
  }

  function take (): Buffer | null {
    const line = length > limit ? null : Buffer.concat(pieces)
    pieces = []
    length = 0
    return line
  }

  for await (const chunk of chunks) {
    const lines = []
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, end))
      lines.push(take())
      start = end + 1
    }
    add(chunk.subarray(start))
    yield lines
  }
  // The last line, if it has no trailing newline.
  if (length > 0) yield [take()]
}

const validatePlant = validatorCompiler({ schema: NewPlantSchema, method: 'POST', url: '/plants', httpPart: 'body' })

/** Parses a line as `POST /plants` parses its body; returns the plant, or why it is not a plant. */
function plantOf (line: Buffer): NewPlant | string {
  try {
    const result = validatePlant(parseBody(line))
    if ('error' in result) throw result.error
    return result.value
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error.message.replace('The body', 'it')
  }
}
