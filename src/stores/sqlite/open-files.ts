import { realpathSync, statSync, unlinkSync } from 'node:fs'

/**
 * - `inPlace`: each file is at its path;
 * - `missing`: there is no database file;
 * - `replaced`: another database file is there;
 * - `withoutLog`: the write-ahead log or its index is missing or was replaced.
 */
export type FilesState = 'inPlace' | 'missing' | 'replaced' | 'withoutLog'

/** Identifies a file on this machine while it is open. */
interface Identity { dev: bigint, ino: bigint }

/**
 * The files of an open database. SQLite keeps writing to a file that was deleted or replaced: only its path reveals it.
 */
export class OpenFiles {
  readonly #database: string
  /** The log and its index, beside the file itself if the path is a symbolic link. */
  readonly #log: readonly string[]
  readonly #identities: ReadonlyMap<string, Identity | undefined>

  /** @param path the path of the database file, which is open with its log and index */
  constructor (path: string) {
    this.#database = path
    const file = realpathSync(path)
    this.#log = [`${file}-wal`, `${file}-shm`]
    this.#identities = new Map([path, ...this.#log].map(path => [path, identityOf(path)]))
  }

  state (): FilesState {
    const database = identityOf(this.#database)
    if (database === undefined) return 'missing'
    if (!isSame(this.#identities.get(this.#database), database)) return 'replaced'
    // If there was no log at first, as on a file system that does not support one, none can be lost.
    const isWhole = this.#log.every(path => this.#identities.get(path) === undefined || this.#isThere(path))
    return isWhole ? 'inPlace' : 'withoutLog'
  }

  /**
   * Deletes the log and its index if they are still there: SQLite would apply them to the file now at the path.
   */
  deleteLog (): void {
    for (const path of this.#log) {
      if (this.#isThere(path)) unlinkSync(path)
    }
  }

  #isThere (path: string): boolean {
    return isSame(this.#identities.get(path), identityOf(path))
  }
}

/** The identity of the file at the path; undefined if there is none, or if it cannot be reached. */
export function identityOf (path: string): Identity | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

export function isSame (one: Identity | undefined, other: Identity | undefined): boolean {
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino
}
