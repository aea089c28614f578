import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import type { NewPlant } from '../plant-store.js'
import { emptyLog, FORMAT, growLog, openDatabase, rollBack, type DatabaseClass } from './database.js'
import { identityOf, isSame, OpenFiles, type FilesState } from './open-files.js'
import { failureOf, isLocked, SqliteFailure, violatesConstraint } from './sqlite-failure.js'
import { SAME, TAKEN } from './thread/thread-messages.js'

/** The longest that one call waits for another program's lock, in milliseconds. */
export const LOCK_WAIT_MS = 250

/** To sleep by `Atomics.wait`: nothing notifies it. */
const NEVER = new Int32Array(new SharedArrayBuffer(4))

/** The plants in an SQLite database. Every call blocks the thread. */
export class SqlitePlantsTable {
  readonly #path: string
  readonly #database: DatabaseSyncInstance
  readonly #files: OpenFiles
  // Executed by `get`, which returns nothing if there is no row. `run` makes an object with the number of changes: on
  // Node 20, an insert takes 1.9 µs with it, and 1.4 without. RETURNING, which would show the same, makes it 3.1.
  readonly #begin: StatementSyncInstance
  readonly #commit: StatementSyncInstance
  readonly #findTrigger: StatementSyncInstance
  readonly #insertNew: StatementSyncInstance
  /** Executed by `run`, to see whether it changed anything. */
  readonly #insert: StatementSyncInstance
  readonly #find: StatementSyncInstance
  /** Whether a file was missing or replaced at the last check. */
  #isDisplaced = false

  private constructor (path: string, database: DatabaseSyncInstance) {
    this.#path = path
    this.#database = database
    this.#files = new OpenFiles(path)
    // #takeLock waits. A commit needs no further lock.
    database.exec('PRAGMA busy_timeout = 0')
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    const values = 'INTO plants(id, name, tag) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT))'
    // A table that another tool created may have a conflict clause of its own, such as REPLACE.
    this.#insertNew = database.prepare(`INSERT OR ABORT ${values}`)
    this.#insert = database.prepare(`INSERT ${values} ON CONFLICT(id) DO NOTHING`)
    // `run` also returns the id inserted last, and since Node 26.8 throws if that is not exact as a number.
    this.#insert.setReadBigInts(true)
    this.#findTrigger = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'trigger'")
    // Compared in SQL, which does not stop at a NUL as reading the text back does; and not by the columns' collation,
    // which may ignore case in a table that another tool created.
    this.#find = database.prepare('SELECT 1 FROM plants WHERE id = ? AND name = CAST(? AS TEXT) COLLATE BINARY AND tag IS CAST(? AS TEXT) COLLATE BINARY')
  }

  /**
   * Opens the file, or creates it with its folders.
   * @param options.wasOpen whether this process had the file open before: then it is not created
   * @param options.lockWaitMs how long to wait for another program's lock
   * @throws {StoreUnusable} if it must not be written
   * @throws {SqliteFailure} if it was open before and is missing or its log cannot be emptied, or if it is replaced
   *   meanwhile
   */
  static open (
    Database: DatabaseClass, path: string, { wasOpen = false, lockWaitMs = LOCK_WAIT_MS } = {}
  ): SqlitePlantsTable {
    const found = identityOf(path)
    if (found === undefined && wasOpen) throw displacement(path, 'missing')
    const database = openDatabase(Database, path, wasOpen, lockWaitMs)
    // Either the old file or the new one is open now.
    if (found !== undefined && !isSame(found, identityOf(path))) {
      database.close()
      throw displacement(path, 'replaced')
    }
    return new SqlitePlantsTable(path, database)
  }

  /**
   * Stores all plants in one transaction, durably, in the file that is at the path.
   * @param lockWaitMs how long to wait for another program's lock
   * @returns an index in `OUTCOMES` for each plant; null if all are `stored`
   * @throws {SqliteFailure} if none of them is stored, or if that is unknown
   */
  write (plants: readonly NewPlant[], lockWaitMs = LOCK_WAIT_MS): Uint8Array | null {
    let outcomes: Uint8Array | null = null
    this.#transaction(lockWaitMs, () => {
      // A trigger that another tool created may ignore an insert, which only `run` reveals.
      const hasTrigger = this.#findTrigger.get() !== undefined
      const inserted = hasTrigger ? 0 : this.#insertUntilTaken(plants)
      plants.slice(inserted).forEach((plant, i) => {
        const values = valuesOf(plant)
        if (this.#insert.run(...values).changes > 0) return
        outcomes ??= new Uint8Array(plants.length)
        outcomes[inserted + i] = this.#find.get(...values) === undefined ? TAKEN : SAME
      })
    })
    return outcomes
  }

  /**
   * Inserts plants until one has an id that exists.
   * @returns the number of plants before that one
   */
  #insertUntilTaken (plants: readonly NewPlant[]): number {
    let inserted = 0
    try {
      for (const plant of plants) {
        this.#insertNew.get(...valuesOf(plant))
        inserted++
      }
    } catch (error) {
      if (!violatesConstraint(error)) throw error
    }
    return inserted
  }

  /**
   * Checks that plants can be written now.
   * @param thoroughly whether to commit a page, as a write would
   * @throws {SqliteFailure} if they cannot
   */
  check (thoroughly: boolean): void {
    this.#transaction(LOCK_WAIT_MS, () => {
      if (thoroughly) this.#database.exec(`PRAGMA user_version = ${FORMAT}`)
    })
  }

  /** Grows the write-ahead log to its final size. */
  growLog (): void {
    growLog(this.#database, this.#path)
  }

  /** @throws {Error} if a file was replaced, and another program is reading the log: then the files stay open */
  close (): void {
    this.#isDisplaced = this.#files.state() !== 'inPlace'
    if (this.#isDisplaced) this.#detachLog()
    this.#database.close()
  }

  #transaction (lockWaitMs: number, work: () => void): void {
    if (this.#isDisplaced) this.#resume()
    let inCommit = false
    try {
      this.#takeLock(lockWaitMs)
      work()
      inCommit = true
      this.#commit.get()
    } catch (error) {
      rollBack(this.#database)
      throw failureOf(error, inCommit)
    }
    const state = this.#files.state()
    if (state === 'inPlace') return
    this.#isDisplaced = true
    throw displacement(this.#path, state, true)
  }

  /**
   * Begins a transaction, with the write lock. SQLite itself would retry after up to 100 ms, while other processes that
   * share the file, as those of a clustered host do, commit within 1 ms each: with four, the slowest requests would
   * take four times as long.
   */
  #takeLock (lockWaitMs: number): void {
    const started = performance.now()
    for (;;) {
      try {
        this.#begin.get()
        return
      } catch (error) {
        const waited = performance.now() - started
        if (!isLocked(error) || waited >= lockWaitMs) throw error
        // Random, so that processes do not retry in step.
        Atomics.wait(NEVER, 0, 0, Math.min(Math.max(waited / 5, 0.5), 20) * (0.5 + Math.random()))
      }
    }
  }

  /**
   * Continues if the files are in place again. While the file is missing, it stays open, since it may be put back; if
   * it was replaced, it is given up.
   * @throws {SqliteFailure} if they are not in place
   */
  #resume (): void {
    const state = this.#files.state()
    this.#isDisplaced = state !== 'inPlace'
    if (state === 'inPlace') return
    if (state !== 'missing') this.#detachLog()
    throw displacement(this.#path, state)
  }

  /** Moves the log's content to the open file and deletes the log: it is not that of the file now at the path. */
  #detachLog (): void {
    rollBack(this.#database)
    this.#database.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
    emptyLog(this.#database, this.#path)
    this.#files.deleteLog()
  }
}

/** The failure of writing to files that are no longer in place. */
function displacement (path: string, state: Exclude<FilesState, 'inPlace'>, outcomeUnknown = false): SqliteFailure {
  if (state === 'missing') {
    return new SqliteFailure(`${path} was deleted or moved away while it was open: put it back, or restart to begin with an empty one`, { outcomeUnknown, permanent: true })
  }
  const what = state === 'replaced' ? `${path} was replaced` : `${path}-wal or ${path}-shm was deleted or replaced`
  return new SqliteFailure(`${what} while it was open: reopening the file that is there now`, { outcomeUnknown, reopen: true })
}

/** The values to bind for a plant. */
function valuesOf ({ id, name, tag }: NewPlant): [bigint, string | Uint8Array, string | Uint8Array | null] {
  return [id, bindable(name), tag === undefined ? null : bindable(tag)]
}

/** The value to bind for a text: `@photostructure/sqlite` cuts off strings at a NUL, but not bytes. */
function bindable (text: string): string | Uint8Array {
  return text.includes('\0') ? Buffer.from(text) : text
}
