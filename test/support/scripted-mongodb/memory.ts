import type { Document } from 'bson'
import { idKey, type IdKey } from './id-key.js'

/** A stored document, and how far it is replicated. */
export interface Stored {
  readonly collection: Map<IdKey, Stored>
  readonly key: IdKey
  readonly document: Document
  state: 'local' | 'majority'
}

/**
 * The documents of a deployment. The members of a replica set share one memory: the primary sees all of it, the
 * secondaries see what is majority-committed. As in an oplog, the committed writes are a prefix of all writes: a
 * commit includes every write before it, and a rollback undoes every write that is not committed.
 */
export class Memory {
  readonly #collections = new Map<string, Map<IdKey, Stored>>()
  #tail: Stored[] = []

  /** The names of all collections, with their database: `plant_store.plants`. */
  get namespaces (): string[] {
    return [...this.#collections.keys()]
  }

  /** The documents of a collection by their id; an unknown collection is created. */
  collection (namespace: string): Map<IdKey, Stored> {
    let collection = this.#collections.get(namespace)
    if (collection === undefined) this.#collections.set(namespace, collection = new Map())
    return collection
  }

  /** Stores a document without committing it to the majority; returns false if its id is taken. */
  insert (collection: Map<IdKey, Stored>, document: Document): boolean {
    const key = idKey(document['_id'])
    if (collection.has(key)) return false
    const stored: Stored = { collection, key, document, state: 'local' }
    collection.set(key, stored)
    this.#tail.push(stored)
    return true
  }

  /** Commits everything written so far to the majority. */
  commit (): void {
    for (const stored of this.#tail) stored.state = 'majority'
    this.#tail = []
  }

  /** Removes everything that is not majority-committed. */
  rollBack (): void {
    for (const { collection, key } of this.#tail) collection.delete(key)
    this.#tail = []
  }
}
