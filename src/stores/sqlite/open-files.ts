import { lstatSync, realpathSync, statSync, unlinkSync, type BigIntStats } from 'node:fs'
import { dirname } from 'node:path'

/** Milliseconds, longer than the unit of any file system's timestamps: two seconds on FAT. */
const TIMESTAMP_UNIT = 3_000

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
  /** The folder of all the files; undefined if the path is a symbolic link. */
  readonly #folderPath: string | undefined
  /** The folder when all files were in place; undefined if its next change might leave its timestamp as it is. */
  #folder: BigIntStats | undefined

  /** @param path the path of the database file, which is open with its log and index */
  constructor (path: string) {
    this.#database = path
    this.#folderPath = lstatSync(path).isSymbolicLink() ? undefined : dirname(path)
    const file = realpathSync(path)
    this.#log = [`${file}-wal`, `${file}-shm`]
    this.#identities = new Map([path, ...this.#log].map(path => [path, identityOf(path)]))
  }

  /**
   * Looks at the files only if their folder has changed since: on Linux 6.13 and later, a log whose timestamps are read
   * gets new ones with its next page, and its sync takes 40 µs longer.
   *
   * Of the folder, `ctime` counts: `rsync -a` and `tar` set `mtime` back when they restore a backup.
   */
  state (): FilesState {
    if (this.#folderPath === undefined) return this.#stateOfFiles()
    const now = Date.now()
    const folder = identityOf(this.#folderPath)
    if (isSame(this.#folder, folder) && this.#folder?.ctimeNs === folder?.ctimeNs) return 'inPlace'
    const state = this.#stateOfFiles()
    const isSettled = folder !== undefined && now - Number(folder.ctimeMs) > TIMESTAMP_UNIT
    this.#folder = state === 'inPlace' && isSettled ? folder : undefined
    return state
  }

  #stateOfFiles (): FilesState {
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
export function identityOf (path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

export function isSame (one: Identity | undefined, other: Identity | undefined): boolean {
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino
}
