import { constants, createReadStream, fstatSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { addAbortSignal, type Readable } from 'node:stream'
import { isatty, ReadStream as TerminalStream } from 'node:tty'
import { parseExactJson } from '../../../exact-json.js'
import { CopyError, readEntry, type Entry, type PlantSource } from './plant-source.js'

/**
 * Plants in NDJSON, one per line; blank lines are skipped.
 * @param path a file, also one to wait for, such as a FIFO; or `-` for standard input
 */
export function ndjsonSource (path: string): PlantSource {
  const { input, size = NaN } = openInput(path)
  let number = 0

  function readLine (line: string): Entry[] {
    const where = `line ${++number}`
    const isBlank = /^[ \t\r]*$/.test(line)
    return isBlank ? [] : [readEntry(where, () => parseExactJson(Buffer.from(line, 'latin1')))]
  }

  return {
    async * pages (signal) {
      const chunks = addAbortSignal(signal, input).setEncoding('latin1')
      for await (const lines of linesOf(chunks)) yield lines.flatMap(readLine)
    },
    part: () => input.bytesRead / size
  }
}

const LONGEST_LINE = 2 ** 28

/** A thread that waited for a FIFO or a terminal would keep the process from ending: only files are read by threads. */
function openInput (path: string): { input: Readable & { bytesRead: number }, size?: number } {
  if (path === '-' || path === '/dev/stdin') {
    if (fstatSync(0, { bigint: true }).isDirectory()) throw new CopyError('standard input is a folder: choose a file')
    return { input: process.stdin }
  }
  // Without waiting for a FIFO's writer; as bigints: after numbers of a pipe, Node resolves no links of modules.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const file = fstatSync(fd, { bigint: true })
  if (file.isFIFO()) return { input: new Socket({ fd, readable: true, writable: false }) }
  if (isatty(fd)) return { input: new TerminalStream(fd) }
  return { input: createReadStream(path, { fd }), size: Number(file.size) || NaN }
}

/** Splits chunks of bytes, as characters (latin1), into lines: those that end in a chunk together. */
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
