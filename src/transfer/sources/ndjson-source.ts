import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { messageOf } from '../../error-message.js'
import { parsePlantLine } from '../plant-line.js'
import { SourcePage, type PlantSource } from './plant-source.js'
import { LineSplitter, type Line } from './split-lines.js'
import { TransferFault } from '../transfer-fault.js'

/** In bytes: more than the largest MongoDB document takes with every character escaped. */
const MAX_LINE_BYTES = 2 ** 27
const CHUNK_BYTES = 2 ** 16

/** Plants in NDJSON, one per line, from a stream; blank lines are skipped. */
export class NdjsonSource implements PlantSource {
  /** In bytes. */
  readonly size: number | undefined
  position = 0
  readonly #input: Readable
  readonly #name: string

  private constructor (input: Readable, name: string, size?: number) {
    this.#input = input
    this.#name = name
    this.size = size
  }

  static ofStandardInput (): NdjsonSource {
    return new NdjsonSource(process.stdin, 'standard input')
  }

  /** @throws {TransferFault} if the file cannot be opened */
  static async open (path: string): Promise<NdjsonSource> {
    try {
      const file = await open(path)
      const stats = await file.stat()
      if (stats.isDirectory()) {
        await file.close()
        throw new Error('it is a folder')
      }
      const stream = createReadStream(path, { fd: file, highWaterMark: CHUNK_BYTES })
      return new NdjsonSource(stream, path, stats.isFile() ? stats.size : undefined)
    } catch (error) {
      throw unreadable(path, error)
    }
  }

  async * pages (signal: AbortSignal): AsyncGenerator<SourcePage> {
    const lines = new LineSplitter(MAX_LINE_BYTES)
    const stop = (): void => { this.#input.destroy() }
    signal.addEventListener('abort', stop)
    try {
      for await (const chunk of this.#input) {
        this.position += chunk.length
        yield pageOf(lines.push(chunk))
        if (signal.aborted) return
      }
      yield pageOf(lines.end())
    } catch (error) {
      // Iterating over a destroyed stream throws.
      if (!signal.aborted) throw unreadable(this.#name, error)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  async close (): Promise<void> {
    this.#input.destroy()
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
  for (const byte of line) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false
  return true
}

function unreadable (name: string, error: unknown): TransferFault {
  return new TransferFault(`${name} cannot be read: ${messageOf(error)}`)
}
