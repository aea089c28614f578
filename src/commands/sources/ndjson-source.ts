import { open } from 'node:fs/promises'
import { addAbortSignal } from 'node:stream'
import { parseExactJson } from '../../exact-json.js'
import { CopyError, readEntry, type PlantSource } from './plant-source.js'

/**
 * Plants in NDJSON, one per line; blank lines are skipped.
 * @param path a file, or `-` for standard input
 */
export async function ndjsonSource (path: string): Promise<PlantSource> {
  const file = path === '-' ? undefined : await open(path)
  const input = file?.createReadStream() ?? process.stdin
  const size = (await file?.stat())?.size
  let number = 0
  return {
    async * pages (signal) {
      const chunks = addAbortSignal(signal, input).setEncoding('latin1')
      for await (const lines of linesOf(chunks)) {
        yield lines.flatMap(line => {
          number++
          return /^[ \t\r]*$/.test(line) ? [] : readEntry(`line ${number}`, () => parseExactJson(Buffer.from(line, 'latin1')))
        })
      }
    },
    // The size of a pipe is 0.
    part: () => input.bytesRead / (size || NaN)
  }
}

/**
 * Splits chunks into lines, those that end in a chunk together.
 * @param chunks bytes as characters (latin1)
 */
export async function * linesOf (chunks: AsyncIterable<string>): AsyncGenerator<string[]> {
  let rest = ''
  for await (const chunk of chunks) {
    rest += chunk
    // The largest MongoDB document is smaller, even with every character escaped.
    if (rest.length > 2 ** 27) throw new CopyError('a line is longer than 128 MiB, and so is no plant')
    // A long line is split once, not with each of its chunks.
    if (!chunk.includes('\n')) continue
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    yield lines
  }
  // The last line, if it has no trailing newline.
  if (rest !== '') yield [rest]
}
