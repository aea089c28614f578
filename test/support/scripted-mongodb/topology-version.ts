import { Long, ObjectId, type Document } from 'bson'

/** A member's process and the number of its role changes, by which a client detects stale answers. */
export class TopologyVersion {
  readonly #processId = new ObjectId()
  readonly #watchers = new Set<() => void>()
  #counter = 0

  toDocument (): Document {
    return { processId: this.#processId, counter: Long.fromNumber(this.#counter) }
  }

  bump (): void {
    this.#counter++
    for (const notify of this.#watchers) notify()
  }

  /** Resolves once the version differs from the one seen, after `ms` at the latest, or when `gone` is aborted. */
  async changed (seen: Document, ms: number, gone: AbortSignal): Promise<void> {
    const known = this.#processId.equals(seen['processId']) && Number(seen['counter']) === this.#counter
    if (!known || gone.aborted) return
    await new Promise<void>(resolve => {
      const watchers = this.#watchers
      const timer = setTimeout(notify, ms)
      watchers.add(notify)
      gone.addEventListener('abort', notify)
      function notify () {
        clearTimeout(timer)
        watchers.delete(notify)
        gone.removeEventListener('abort', notify)
        resolve()
      }
    })
  }
}
