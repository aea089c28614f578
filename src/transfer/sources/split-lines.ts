const NEWLINE = 0x0a

/** A line without its newline; null if it is longer than the limit. */
export interface Line {
  readonly number: number
  readonly bytes: Buffer | null
}

/** Splits the chunks of a file into lines, and buffers no more than one incomplete line. */
export class LineSplitter {
  readonly #limit: number
  #number = 0
  #pieces: Buffer[] = []
  #length = 0

  /** @param limit the length of the longest line, in bytes */
  constructor (limit: number) {
    this.#limit = limit
  }

  /** Returns the lines that this chunk completes. */
  * push (chunk: Buffer): Generator<Line> {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#add(chunk.subarray(start, end))
      yield this.#take()
      start = end + 1
    }
    if (start < chunk.length) this.#add(chunk.subarray(start))
  }

  /** Returns the last line, if it has no trailing newline. */
  * end (): Generator<Line> {
    if (this.#length > 0) yield this.#take()
  }

  #add (piece: Buffer): void {
    this.#length += piece.length
    if (this.#length > this.#limit) this.#pieces = []
    else this.#pieces.push(piece)
  }

  #take (): Line {
    const [first = Buffer.alloc(0), ...others] = this.#pieces
    const bytes = this.#length > this.#limit ? null : others.length === 0 ? first : Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#length = 0
    return { number: ++this.#number, bytes }
  }
}
