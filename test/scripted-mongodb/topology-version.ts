import { Long, ObjectId, type Document } from 'bson'

/** A member's process and the number of its changes of role: by it a client tells old news from new. */
export class TopologyVersion {
  readonly #processId = new ObjectId()
  readonly #watchers = new Set<() => void>()
  #counter = 0

  toDocument (): Document {
    return { processId: this.#processId, counter: Long.fromNumber(this.#counter) }
  }

  bump (): void {
    this.#counter++
    for (const tell of this.#watchers) tell()
  }

  /** Resolves as soon as this is another version than the one seen, at the latest after `ms`, or when `gone`. */
  async changed (seen: Document, ms: number, gone: AbortSignal): Promise<void> {
    const known = this.#processId.equals(seen['processId']) && Number(seen['counter']) === this.#counter
    if (!known || gone.aborted) return
    await new Promise<void>((resolve) => {
      const watchers = this.#watchers
      const timer = setTimeout(tell, ms)
      watchers.add(tell)
      gone.addEventListener('abort', tell)
      function tell () {
        clearTimeout(timer)
        watchers.delete(tell)
        gone.removeEventListener('abort', tell)
        resolve()
      }
    })
  }
}
