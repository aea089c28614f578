import { calculateObjectSize, Long, type Document } from 'bson'
import { CommandError } from './command-error.js'

const LARGEST_BATCH = 16_000_000

/** The result sets that a client has not fetched completely. */
export class Cursors {
  readonly #open = new Map<number, Document[]>()
  #last = 0

  /** Starts a result set; returns its first batch, and an id if there are more. */
  open (documents: Document[], limit: number): { id: Long, batch: Document[] } {
    return this.#batch(++this.#last, documents, limit)
  }

  /** The next batch; id 0 with the last one. */
  more (id: number, limit: number): { id: Long, batch: Document[] } {
    const rest = this.#open.get(id)
    if (rest === undefined) throw new CommandError({ code: 43, message: `cursor id ${id} not found` })
    return this.#batch(id, rest, limit)
  }

  clear (): void {
    this.#open.clear()
  }

  #batch (id: number, documents: Document[], limit: number) {
    let end = 0
    for (let size = 0; end < Math.min(limit, documents.length); end++) {
      size += calculateObjectSize(documents[end]!)
      if (size > LARGEST_BATCH && end > 0) break
    }
    if (end < documents.length) this.#open.set(id, documents.slice(end))
    else this.#open.delete(id)
    return { id: Long.fromNumber(end < documents.length ? id : 0), batch: documents.slice(0, end) }
  }
}
