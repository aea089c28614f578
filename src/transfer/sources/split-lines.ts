const NEWLINE = 0x0a

/** A line without its newline; null if it is longer than the limit. */
export interface Line {
  readonly number: number
  readonly bytes: Buffer | null
}

/**
 * Splits the chunks of a file into lines, and buffers no more than one incomplete line.
 * @param limit the length of the longest line, in bytes
 */
export function lineSplitter (limit: number) {
  let number = 0
  let pieces: Buffer[] = []
  let length = 0

  function add (piece: Buffer): void {
    length += piece.length
    if (length > limit) pieces = []
    else pieces.push(piece)
  }

  function take (): Line {
    const [first = Buffer.alloc(0), ...others] = pieces
    const bytes = length > limit ? null : others.length === 0 ? first : Buffer.concat(pieces)
    pieces = []
    length = 0
    return { number: ++number, bytes }
  }

  return {
    /** Returns the lines that this chunk completes. */
    * push (chunk: Buffer): Generator<Line> {
      let start = 0
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        add(chunk.subarray(start, end))
        yield take()
        start = end + 1
      }
      if (start < chunk.length) add(chunk.subarray(start))
    },
    /** Returns the last line, if it has no trailing newline. */
    * end (): Generator<Line> {
      if (length > 0) yield take()
    }
  }
}
