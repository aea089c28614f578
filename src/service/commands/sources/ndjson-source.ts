import { createReadStream, fstatSync, statSync } from 'node:fs'
import { addAbortSignal } from 'node:stream'
import { parseExactJson } from '../../../exact-json.js'
import { CopyError, readEntry, type Entry, type PlantSource } from './plant-source.js'

/**
 * Plants in NDJSON, one per line; blank lines are skipped.
 * @param path a file; or `-` for standard input
 * @throws {CopyError} if it is a folder
 */
export function ndjsonSource (path: string): PlantSource {
  const isFile = path !== '-'
  // As bigints: on Node 20, after the numbers of a pipe, the links of modules that are loaded next are not resolved.
  const stats = isFile ? statSync(path, { bigint: true }) : fstatSync(0, { bigint: true })
  if (stats.isDirectory()) throw new CopyError(`${isFile ? path : 'standard input'} is a folder: choose a file`)
  const input = isFile ? createReadStream(path) : process.stdin
  // A pipe has no size.
  const size = Number(stats.size) || NaN
  let number = 0

  function readLine (line: string): Entry[] {
    const where = `line ${++number}`
    const isBlank = /^[ \t\r]*$/.test(line)
    return isBlank ? [] : [readEntry(where, () => parseExactJson(Buffer.from(line, 'latin1')))]
  }

  return {
    async * pages (signal) {
      // A character a byte, so that invalid UTF-8 is not replaced before it is seen.
      const chunks = addAbortSignal(signal, input).setEncoding('latin1')
      for await (const lines of linesOf(chunks)) yield lines.flatMap(readLine)
    },
    part: () => input.bytesRead / size
  }
}

const LONGEST_LINE = 2 ** 28

/**
 * Splits chunks of bytes, as characters (latin1), into lines: those that end in a chunk together. `node:readline` ends
 * the process at a line of more than 512 MiB, takes a carriage return for the end of a line, and is four times slower.
 */
export async function * linesOf (chunks: AsyncIterable<string>): AsyncGenerator<string[]> {
  let rest = ''
  for await (const chunk of chunks) {
    rest += chunk
    // A long line is split once, not with each of its chunks. One that is too long is replaced by what is no JSON.
    if (!chunk.includes('\n')) {
      if (rest.length > LONGEST_LINE) rest = '\0'
      continue
    }
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    yield lines
  }
  // The last line, if it has no trailing newline.
  if (rest !== '') yield [rest]
}
