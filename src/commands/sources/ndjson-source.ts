import { open } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import { parseBody } from '../../route/parse-body.js'
import { ApiError } from '../../route/errors.js'
import { validatorCompiler } from '../../route/compilers.js'
import { NewPlantSchema } from '../../route/schemas.js'
import type { NewPlant } from '../../plant-store.js'
import { unreadable, type Entry, type PlantSource } from './plant-source.js'

/** More than the largest MongoDB document takes with every character escaped. */
const MAX_LINE_BYTES = 2 ** 27

/** @throws {CopyError} if the file cannot be opened */
export async function openNdjsonFile (path: string): Promise<PlantSource> {
  try {
    const file = await open(path)
    const { size } = await file.stat()
    const stream = file.createReadStream()
    // The size of a pipe is 0.
    return ndjsonSource(stream, path, () => stream.bytesRead / (size || NaN))
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** Plants in NDJSON, one per line; blank lines are skipped. */
export function ndjsonSource (input: Readable, name: string, part = () => NaN): PlantSource {
  let number = 0

  function entryOf (line: string): Entry[] {
    const where = `line ${++number}`
    if (line.length > MAX_LINE_BYTES) return [{ where, plant: `it is longer than ${MAX_LINE_BYTES} bytes` }]
    return /^[ \t\r]*$/.test(line) ? [] : [{ where, plant: plantOf(Buffer.from(line, 'latin1')) }]
  }

  return {
    async * pages (signal) {
      try {
        const chunks = addAbortSignal(signal, input).setEncoding('latin1')
        for await (const lines of linesOf(chunks, MAX_LINE_BYTES)) yield lines.map(entryOf).flat()
      } catch (error) {
        throw unreadable(name, error)
      }
    },
    part
  }
}

/**
 * Splits chunks into lines, those that end in a chunk together, and buffers no more than one incomplete line.
 * @param chunks bytes as characters (latin1)
 * @param limit a longer line is cut, but remains longer than this
 */
export async function * linesOf (chunks: AsyncIterable<string>, limit: number): AsyncGenerator<string[]> {
  let rest = ''
  for await (const chunk of chunks) {
    const endsLine = chunk.includes('\n')
    if (endsLine || rest.length <= limit) rest += chunk
    if (!endsLine) continue
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    yield lines
  }
  // The last line, if it has no trailing newline.
  if (rest !== '') yield [rest]
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
