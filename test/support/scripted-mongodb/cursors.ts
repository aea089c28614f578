import { calculateObjectSize, Long, type Document } from 'bson'
import { CommandError } from './command-error.js'
import { idKey, type IdKey } from './id-key.js'

const LARGEST_BATCH = 16_000_000

interface Cursor {
  readonly query: () => Document[]
  /** The document up to which batches have been returned. */
  readonly last: IdKey
}

/** The cursors that are not exhausted. As on a real server, they see documents inserted ahead of their position. */
export class Cursors {
  readonly #open = new Map<number, Cursor>()
  #lastId = 0

  /** Opens a cursor; returns its first batch, and its id, or 0 if that batch is the last. */
  open (query: () => Document[], limit: number): { id: Long, batch: Document[] } {
    return this.#batch(++this.#lastId, query, query(), limit)
  }

  /** Returns the next batch, and id 0 with the last one. */
  more (id: number, limit: number): { id: Long, batch: Document[] } {
    const cursor = this.#open.get(id)
    if (cursor === undefined) throw new CommandError({ code: 43, message: `cursor id ${id} not found` })
    const documents = cursor.query()
    const next = documents.findIndex(({ _id }) => idKey(_id) === cursor.last) + 1
    return this.#batch(id, cursor.query, documents.slice(next), limit)
  }

  clear (): void {
    this.#open.clear()
  }

  #batch (id: number, query: Cursor['query'], documents: Document[], limit: number) {
    let end = 0
    for (let size = 0; end < Math.min(limit, documents.length); end++) {
      size += calculateObjectSize(documents[end]!)
      if (size > LARGEST_BATCH && end > 0) break
    }
    if (end < documents.length) this.#open.set(id, { query, last: idKey(documents[end - 1]?.['_id']) })
    else this.#open.delete(id)
    return { id: Long.fromNumber(end < documents.length ? id : 0), batch: documents.slice(0, end) }
  }
}
