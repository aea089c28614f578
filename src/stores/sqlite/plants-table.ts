import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import type { CreateOutcome } from '../../plant-store.js'
import { emptyLog, FORMAT, LOCK_WAIT_MS, openDatabase, type DatabaseClass } from './database.js'
import { identityOf, OpenFiles } from './open-files.js'
import { BUSY, CONSTRAINT, failureOf, resultCode } from './sqlite-failure.js'

/** Milliseconds for which SQLite itself waits for a lock, between the attempts of `#takeLock`. */
const BUSY_TIMEOUT_MS = 3

/** A plant as a row; `tag` is null if it has none. */
export type Row = readonly [id: bigint, name: string, tag: string | null]

/** The plants in an SQLite database. Every call blocks the thread. */
export class PlantsTable {
  readonly #database: DatabaseSyncInstance
  readonly #files: OpenFiles
  readonly #begin: StatementSyncInstance
  readonly #commit: StatementSyncInstance
  readonly #findTrigger: StatementSyncInstance
  readonly #insertNew: StatementSyncInstance
  readonly #insert: StatementSyncInstance
  readonly #find: StatementSyncInstance

  /**
   * Opens the file, or creates it with its folders.
   * @param wasOpen whether this process had the file open before: then it is not created
   * @throws {SqliteFailure} if it cannot be opened
   */
  constructor (Database: DatabaseClass, private readonly path: string, wasOpen = false) {
    const found = identityOf(path)
    const database = openDatabase(Database, path, wasOpen)
    this.#database = database
    this.#files = new OpenFiles(path, found)
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#findTrigger = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'trigger'")
    const values = 'INTO plants(id, name, tag) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT))'
    // A table that another tool created may have a conflict clause of its own, such as REPLACE.
    this.#insertNew = database.prepare(`INSERT OR ABORT ${values}`)
    this.#insert = database.prepare(`INSERT ${values} ON CONFLICT(id) DO NOTHING`)
    // `run` also returns the id inserted last, and since Node 26.8 throws if that is not exact as a number.
    this.#insert.setReadBigInts(true)
    // Compared in SQL, which does not stop at a NUL as reading the text back does; and not by the columns' collation,
    // which may ignore case in a table that another tool created.
    this.#find = database.prepare('SELECT 1 FROM plants WHERE id = ? AND name = CAST(? AS TEXT) COLLATE BINARY AND tag IS CAST(? AS TEXT) COLLATE BINARY')
  }

  /**
   * Stores all plants in one transaction, durably, in the file that is at the path.
   * @param lockWaitMs how long to wait for another program's lock
   * @throws {SqliteFailure} if none of them is stored, or if that is unknown
   */
  write (rows: readonly Row[], lockWaitMs = LOCK_WAIT_MS): CreateOutcome[] {
    return this.#transaction(lockWaitMs, () => {
      // A trigger that another tool created may ignore an insert, which only the number of changes reveals.
      let isQuick = this.#findTrigger.get() === undefined
      return rows.map(([id, name, tag]) => {
        const values = [id, bindable(name), tag === null ? null : bindable(tag)] as const
        isQuick &&= this.#insertQuickly(values)
        if (isQuick || this.#insert.run(...values).changes > 0) return 'stored'
        return this.#find.get(...values) === undefined ? 'taken' : 'same'
      })
    })
  }

  /**
   * Inserts a plant, unless its id exists. `run` would make an object with the number of changes: on Node 20, it takes
   * 1.8 µs, and this 1.2.
   */
  #insertQuickly (values: readonly unknown[]): boolean {
    try {
      this.#insertNew.get(...values)
      return true
    } catch (error) {
      if (resultCode(error) !== CONSTRAINT) throw error
      return false
    }
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

  /** @throws {Error} if a file was replaced, and another program is reading the log: then the files stay open */
  close (): void {
    if (this.#files.displacement() !== undefined) {
      // The log is not that of the file now at the path.
      this.#database.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
      emptyLog(this.#database, this.path)
      this.#files.deleteLog()
    }
    this.#database.close()
  }

  #transaction<T> (lockWaitMs: number, work: () => T): T {
    let inCommit = false
    try {
      this.#takeLock(performance.now() + lockWaitMs)
      this.#requireFiles()
      const result = work()
      inCommit = true
      this.#commit.get()
      // If the file was replaced meanwhile, the plants are in the old one.
      this.#requireFiles(true)
      return result
    } catch (error) {
      try {
        this.#database.exec('ROLLBACK')
      } catch {
        // There is no transaction, or the connection is broken; the original error is reported.
      }
      throw failureOf(error, inCommit)
    }
  }

  #requireFiles (outcomeUnknown = false): void {
    const displacement = this.#files.displacement(outcomeUnknown)
    if (displacement !== undefined) throw Object.assign(displacement, { outcomeUnknown })
  }

  /**
   * Begins a transaction, with the write lock. SQLite itself would pause for up to 100 ms between two attempts: beside
   * another program that writes all the time, such as an import, the slowest requests would take 6 times as long.
   */
  #takeLock (until: number): void {
    for (;;) {
      try {
        this.#begin.get()
        return
      } catch (error) {
        if (resultCode(error) !== BUSY || performance.now() >= until) throw error
      }
    }
  }
}

/** The value to bind for a text: `@photostructure/sqlite` cuts off strings at a NUL, but not bytes. */
function bindable (text: string): string | Uint8Array {
  return text.includes('\0') ? Buffer.from(text) : text
}
