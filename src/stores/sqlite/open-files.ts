import { existsSync, realpathSync, statSync, unlinkSync } from 'node:fs'
import { missing } from './database.js'
import { SqliteFailure } from './sqlite-failure.js'

/** Milliseconds between two looks at the identity of the log. */
const LOOK_INTERVAL_MS = 100

/**
 * The files of an open database. SQLite keeps writing to a file that was deleted or replaced: only its path reveals it.
 */
export class OpenFiles {
  readonly #database: string | undefined
  /** The identities of the log and its index by path: beside the file itself if the path is a symbolic link. */
  readonly #log: ReadonlyMap<string, string | undefined>
  #lookedAt = 0

  /**
   * @param path the path of the database file, which is open with its log and index
   * @param database the identity of the database file before it was opened, so that its replacement since is noticed;
   *   undefined if there was none
   */
  constructor (private readonly path: string, database: string | undefined) {
    this.#database = database ?? identityOf(path)
    const file = realpathSync(path)
    this.#log = new Map([`${file}-wal`, `${file}-shm`].map(path => [path, identityOf(path)]))
  }

  /** Why nothing may be written now; undefined if each file, or the database alone, is at its path. */
  displacement (ofDatabaseOnly = false): SqliteFailure | undefined {
    const database = identityOf(this.path)
    if (database === undefined) return missing(this.path)
    const what = database !== this.#database ? `${this.path} was replaced` : ofDatabaseOnly || this.#hasLog() ? undefined : `${this.path}-wal or ${this.path}-shm was deleted or replaced`
    return what === undefined ? undefined : new SqliteFailure(`${what} while it was open: reopening the file that is there now`, { reopen: true })
  }

  /**
   * Deletes the log and its index if they are still there: SQLite would apply them to the file now at the path.
   */
  deleteLog (): void {
    for (const [path, identity] of this.#log) {
      if (identity !== undefined && identityOf(path) === identity) unlinkSync(path)
    }
  }

  /**
   * Whether the log and its index are there. Their identity is not read each time: on Linux 6.13 and later, a log whose
   * timestamps are read gets new ones with its next page, and its sync takes 40 µs longer.
   */
  #hasLog (): boolean {
    const now = performance.now()
    const looks = now - this.#lookedAt >= LOOK_INTERVAL_MS
    if (looks) this.#lookedAt = now
    // There is no log on a file system that does not support one.
    return [...this.#log].every(([path, identity]) =>
      looks ? identityOf(path) === identity : existsSync(path) || identity === undefined)
  }
}

/** Identifies a file on this machine while it is open; undefined if there is none, or if it cannot be reached. */
export function identityOf (path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}
