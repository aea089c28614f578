import { open, stat } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import { parseBody } from '../../http/body/parse-body.js'
import { ApiError } from '../../http/error-codes.js'
import { validatePlant } from '../../http/schemas/validation.js'
import type { NewPlant } from '../../stores/plant-store.js'
import { unreadable } from '../transfer-fault.js'
import type { Entry, PlantSource } from './plant-source.js'

/** In bytes: more than the largest MongoDB document takes with every character escaped. */
const MAX_LINE_BYTES = 2 ** 27
const CHUNK_BYTES = 2 ** 16
const NEWLINE = 0x0a

/** @throws {TransferFault} if the file cannot be opened */
export async function openNdjsonFile (path: string): Promise<PlantSource> {
  try {
    const stats = await stat(path)
    if (stats.isDirectory()) throw new Error('it is a folder')
    const stream = (await open(path)).createReadStream({ highWaterMark: CHUNK_BYTES })
    return ndjsonSource(stream, path, stats.isFile() ? stats.size : undefined)
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** Plants in NDJSON, one per line, from a stream of this many bytes; blank lines are skipped. */
export function ndjsonSource (input: Readable, name: string, size = NaN): PlantSource {
  let bytesRead = 0
  let number = 0

  function * entriesOf (lines: Iterable<Buffer | null>): Generator<Entry> {
    for (const line of lines) {
      number++
      if (line === null) yield { place: `line ${number}`, plant: `it is longer than ${MAX_LINE_BYTES} bytes` }
      else if (!isBlank(line)) yield { place: `line ${number}`, plant: plantOf(line) }
    }
  }

  return {
    async * pages (signal) {
      addAbortSignal(signal, input)
      const lines = lineSplitter(MAX_LINE_BYTES)
      try {
        for await (const chunk of input) {
          bytesRead += chunk.length
          yield entriesOf(lines.push(chunk))
        }
        yield entriesOf(lines.end())
      } catch (error) {
        throw unreadable(name, error)
      }
    },
    part: () => bytesRead / size
  }
}

/**
 * Splits chunks into lines, and buffers no more than one incomplete line.
 * @param limit the length of the longest line, in bytes: a longer one is null
 */
export function lineSplitter (limit: number) {
  let pieces: Buffer[] = []
  let length = 0

  function add (piece: Buffer): void {
    length += piece.length
    if (length > limit) pieces = []
    else pieces.push(piece)
  }

  function take (): Buffer | null {
    const [first = Buffer.alloc(0), ...others] = pieces
    const line = length > limit ? null : others.length === 0 ? first : Buffer.concat(pieces)
    pieces = []
    length = 0
    return line
  }

  return {
    /** Returns the lines that this chunk completes. */
    * push (chunk: Buffer): Generator<Buffer | null> {
      let start = 0
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        add(chunk.subarray(start, end))
        yield take()
        start = end + 1
      }
      if (start < chunk.length) add(chunk.subarray(start))
    },
    /** Returns the last line, if it has no trailing newline. */
    * end (): Generator<Buffer | null> {
      if (length > 0) yield take()
    }
  }
}

/** Whether a line consists of JSON's white space only. */
function isBlank (line: Buffer): boolean {
  return line.every(byte => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}

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
