import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import type { CreateOutcome } from '../plant-store.js'
import { FORMAT, identityOf, LOCK_WAIT_MS, openDatabase, type DatabaseClass } from './database.js'
import { CONSTRAINT, refusalOf, resultCode, SqliteError, transactionError, type Failure } from './sqlite-error.js'

const INSERT = 'INTO plants(id, name, tag) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT))'

export type Row = readonly [id: bigint, name: string, tag: string | null]
export type RowResult = CreateOutcome | Failure

/** The plants in an SQLite database. Every call blocks the thread. */
export class PlantsTable {
  readonly #file: string | undefined
  readonly #database: DatabaseSyncInstance
  readonly #findTrigger: StatementSyncInstance
  readonly #find: StatementSyncInstance
  readonly #insertNew: StatementSyncInstance
  readonly #insertAmongTriggers: StatementSyncInstance
  #lockWaitMs = LOCK_WAIT_MS
  /** Why this connection writes nothing more. */
  #fault: SqliteError | undefined

  /** @param openedFile the identity of the file that this process had open before: no other one is opened */
  constructor (Database: DatabaseClass, private readonly path: string, openedFile?: string) {
    // Before it is opened, so that its replacement since is noticed.
    const file = identityOf(path)
    if (openedFile !== undefined && openedFile !== file) throw displaced(path)
    const database = this.#database = openDatabase(Database, path, openedFile !== undefined)
    this.#file = file ?? identityOf(path)
    this.#findTrigger = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'trigger'")
    // In SQL, which does not stop at a NUL as reading the text back does; and whatever the columns' collation is.
    this.#find = database.prepare('SELECT name = CAST(? AS TEXT) COLLATE BINARY AND tag IS CAST(? AS TEXT) COLLATE BINARY AS same FROM plants WHERE id = ?')
    // The table may have a conflict clause of its own, such as REPLACE. ABORT would replace those in triggers, too.
    this.#insertNew = database.prepare(`INSERT OR ABORT ${INSERT}`)
    this.#insertAmongTriggers = database.prepare(`INSERT ${INSERT}`)
  }

  /**
   * Stores rows durably, in the file that is at the path: in one transaction, or if a row fails it, as a trigger does
   * by `RAISE(ROLLBACK)`, in one for each half, and so on.
   * @returns the result of each row; or why none of them is stored, or why that is unknown
   */
  write (rows: readonly Row[], lockWaitMs = LOCK_WAIT_MS): RowResult[] | Failure {
    const results = this.#transaction(lockWaitMs, () => {
      const hasTriggers = this.#findTrigger.get() !== undefined
      return rows.map(row => hasTriggers ? this.#createAmongTriggers(row) : this.#create(row))
    })
    if (Array.isArray(results) || !results.ofRow) return results
    if (rows.length === 1) return [results]
    const half = rows.length >> 1
    return [rows.slice(0, half), rows.slice(half)].flatMap(rows => {
      const results = this.write(rows, lockWaitMs)
      // The other half may be stored.
      return Array.isArray(results) ? results : rows.map(() => results)
    })
  }

  #create (row: Row): RowResult {
    try {
      // `run` would make an object with the number of changes: on Node 20, it takes 1.8 µs, and this 1.2.
      this.#insertNew.get(row[0], bindable(row[1]), bindable(row[2]))
      return 'stored'
    } catch (error) {
      const { failure } = refusalOf(error)
      return (resultCode(error) === CONSTRAINT && this.#existing(row)) || failure
    }
  }

  #createAmongTriggers (row: Row): RowResult {
    const existing = this.#existing(row)
    if (existing !== undefined) return existing
    this.#database.exec('SAVEPOINT plant')
    try {
      this.#insertAmongTriggers.get(row[0], bindable(row[1]), bindable(row[2]))
      this.#database.exec('RELEASE plant')
      return this.#existing(row) ? 'stored' : { message: 'the table refuses the plant: a trigger ignores it', permanent: true }
    } catch (error) {
      const { failure } = refusalOf(error)
      try {
        // After `RAISE(FAIL)`, the row itself may be there.
        this.#database.exec('ROLLBACK TO plant; RELEASE plant')
      } catch {
        // The trigger has ended the transaction.
        throw new SqliteError({ ...failure, ofRow: true })
      }
      return failure
    }
  }

  #existing ([id, name, tag]: Row): CreateOutcome | undefined {
    const row = this.#find.get(bindable(name), bindable(tag), id) as { same: number | null } | undefined
    return row && (row.same === 1 ? 'same' : 'taken')
  }

  /**
   * @param thoroughly whether to commit a page, as a write would
   * @returns why plants cannot be written now, otherwise an empty list
   */
  check (thoroughly: boolean): RowResult[] | Failure {
    return this.#transaction(LOCK_WAIT_MS, () => {
      // Fails if the table was dropped, or if a trigger needs a table that does not exist.
      this.#database.exec(`SELECT 1 FROM sqlite_schema; EXPLAIN INSERT ${INSERT}`)
      if (thoroughly) this.#database.exec(`PRAGMA user_version = ${FORMAT}`)
      return []
    })
  }

  close (): void {
    // SQLite leaves the log of a moved file where it is, beside the file that is now at the path.
    if (this.#isDisplaced()) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    this.#database.close()
  }

  #transaction (lockWaitMs: number, work: () => RowResult[]): RowResult[] | Failure {
    let inCommit = false
    try {
      if (lockWaitMs !== this.#lockWaitMs) this.#database.exec(`PRAGMA busy_timeout = ${Math.max(Math.trunc(lockWaitMs), 0)}`)
      this.#lockWaitMs = lockWaitMs
      this.#database.exec('BEGIN IMMEDIATE')
      if (this.#isDisplaced()) this.#fault = displaced(this.path)
      if (this.#fault !== undefined) throw this.#fault
      const result = work()
      inCommit = true
      this.#database.exec('COMMIT')
      // Otherwise the plants are in the old file.
      if (this.#isDisplaced()) throw displaced(this.path, true)
      return result
    } catch (error) {
      try {
        this.#database.exec('ROLLBACK')
      } catch {
        // There is no transaction, or the connection is broken; the original error is reported.
      }
      const { failure } = transactionError(error, inCommit)
      if (failure.reopen) this.#fault = new SqliteError({ message: failure.message, reopen: true })
      return failure
    }
  }

  /** SQLite keeps writing to a file that was deleted or replaced: only its path reveals it. */
  #isDisplaced (): boolean {
    return identityOf(this.path) !== this.#file
  }
}

function displaced (path: string, outcomeUnknown = false): SqliteError {
  const message = `${path} was deleted, moved or replaced while it was open: put the right file there, and restart`
  return new SqliteError({ message, permanent: true, outcomeUnknown })
}

/** The value to bind for a text: `@photostructure/sqlite` cuts off strings at a NUL, but not bytes. */
function bindable (text: string | null): string | Uint8Array | null {
  return text?.includes('\0') ? Buffer.from(text) : text
}
