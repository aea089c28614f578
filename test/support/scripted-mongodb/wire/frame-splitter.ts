/** Splits a TCP stream into the messages of the wire protocol: each begins with its length. */
export class FrameSplitter {
  #chunks: Buffer[] = []
  #length = 0

  /** Adds the next bytes of the stream, and returns the messages that are complete now. */
  push (chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    // A big message arrives in many chunks: joining them at each chunk would take quadratic time.
    if (this.#length < 4 || this.#length < this.#wanted()) return []
    return this.#cut(this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks))
  }

  #wanted (): number {
    const first = this.#chunks[0]!
    if (first.length < 4) this.#chunks = [Buffer.concat(this.#chunks)]
    return lengthAt(this.#chunks[0]!, 0)
  }

  #cut (bytes: Buffer): Buffer[] {
    const frames: Buffer[] = []
    let at = 0
    while (bytes.length - at >= 4) {
      const length = lengthAt(bytes, at)
      if (bytes.length - at < length) break
      frames.push(bytes.subarray(at, at + length))
      at += length
    }
    this.#chunks = at < bytes.length ? [bytes.subarray(at)] : []
    this.#length = bytes.length - at
    return frames
  }
}

function lengthAt (bytes: Buffer, at: number): number {
  const length = bytes.readInt32LE(at)
  if (length < 16 || length > 48_000_000) throw new RangeError(`a message of ${length} bytes`)
  return length
}
