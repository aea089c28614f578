import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import type { CreateOutcome } from '../store.js'
import { identityOf, LOCK_WAIT_MS, openDatabase, type DatabaseClass } from './database.js'
import {
  CODE, refusalOf, resultCode, SqliteError, transactionError, type Failure, type FailureKind
} from './sqlite-error.js'
import { FORMAT } from './table-format.js'

const INSERT = 'INTO plants(id, name, tag) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT))'

export type Row = readonly [id: bigint, name: string, tag: string | null]
export type RowResult = CreateOutcome | Failure

/** The plants in an SQLite database. Every call blocks the thread. */
export class PlantsTable {
  /** Its identity. */
  readonly #file: string | undefined
  readonly #database: DatabaseSyncInstance
  readonly #findTriggers: StatementSyncInstance
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
    if (openedFile !== undefined && openedFile !== file) throw displaced(path, 'refused')
    const database = openDatabase(Database, path, openedFile !== undefined)
    this.#database = database
    this.#file = file ?? identityOf(path)
    // The table may have a conflict clause of its own, such as REPLACE, which would delete an older plant.
    this.#findTriggers = database.prepare(`SELECT count(*) FILTER (WHERE type = 'trigger') AS triggers,
      count(*) FILTER (WHERE type = 'table' AND lower(name) = 'plants' AND sql LIKE '%ON CONFLICT%') AS clauses
      FROM sqlite_schema`)
    // In SQL, which does not stop at a NUL as reading the text back does; and whatever the columns' collation is.
    this.#find = database.prepare('SELECT name = CAST(? AS TEXT) COLLATE BINARY AND tag IS CAST(? AS TEXT) COLLATE BINARY AS same FROM plants WHERE id = ?')
    // ABORT would replace those in triggers, too.
    this.#insertNew = database.prepare(`INSERT OR ABORT ${INSERT}`)
    this.#insertAmongTriggers = database.prepare(`INSERT ${INSERT}`)
  }

  /**
   * Stores rows durably, in the file that is at the path: in one transaction, or if a row makes that fail, in one for
   * each half, and so on.
   * @returns the result of each row; or why none of them is stored, or why that is unknown
   */
  write (rows: readonly Row[], lockWaitMs = LOCK_WAIT_MS): RowResult[] | Failure {
    const results = this.#transaction(lockWaitMs, () => {
      const { triggers, clauses } = this.#findTriggers.get() as Record<'triggers' | 'clauses', number>
      const insert = clauses > 0 ? this.#insertNew : this.#insertAmongTriggers
      return rows.map(row => triggers > 0 ? this.#createAmongTriggers(row, insert) : this.#create(row))
    })
    if (!(results instanceof SqliteError)) return results
    if (results.failure.reach !== 'plant') return results.failure
    if (rows.length === 1) return [results.failure]
    const middle = Math.floor(rows.length / 2)
    return [rows.slice(0, middle), rows.slice(middle)].flatMap(half => {
      const results = this.write(half, lockWaitMs)
      // The other half may be stored.
      return Array.isArray(results) ? results : half.map(() => results)
    })
  }

  #create (row: Row): RowResult {
    const [id, name, tag] = row
    try {
      // `run` would make an object with the number of changes: on Node 20, it takes 1.8 µs, and this 1.2.
      this.#insertNew.get(id, bindable(name), bindable(tag))
      return 'stored'
    } catch (error) {
      const { failure } = refusalOf(error)
      // It may be the constraint of another unique index.
      const existing = resultCode(error) === CODE.CONSTRAINT ? this.#existing(row) : undefined
      return existing ?? failure
    }
  }

  #createAmongTriggers (row: Row, insert: StatementSyncInstance): RowResult {
    const [id, name, tag] = row
    const existing = this.#existing(row)
    if (existing !== undefined) return existing
    this.#database.exec('SAVEPOINT plant')
    try {
      insert.get(id, bindable(name), bindable(tag))
      const inserted = this.#existing(row)
      if (inserted === undefined) throw refusedByTrigger('ignores')
      if (inserted === 'taken') throw refusedByTrigger('changes')
      this.#database.exec('RELEASE plant')
      return 'stored'
    } catch (error) {
      const refusal = refusalOf(error)
      this.#undo(refusal)
      return refusal.failure
    }
  }

  /** Undoes what triggers did to a plant: after `RAISE(FAIL)` the row may be there. */
  #undo (refusal: SqliteError): void {
    try {
      this.#database.exec('ROLLBACK TO plant; RELEASE plant')
    } catch {
      // After `RAISE(ROLLBACK)` there is no savepoint, and nothing of the transaction is stored.
      throw refusal
    }
  }

  #existing ([id, name, tag]: Row): CreateOutcome | undefined {
    const found = this.#find.get(bindable(name), bindable(tag), id) as { same: number | null } | undefined
    if (found === undefined) return undefined
    return found.same === 1 ? 'same' : 'taken'
  }

  /**
   * Whether plants can be written now.
   * @param thoroughly whether to commit a page, as a write would
   */
  check (thoroughly: boolean): 'writable' | Failure {
    const result = this.#transaction(LOCK_WAIT_MS, () => {
      // Fails if the table was dropped, or if a trigger needs a table that does not exist.
      this.#database.exec(`SELECT 1 FROM sqlite_schema; EXPLAIN INSERT ${INSERT}`)
      if (thoroughly) this.#database.exec(`PRAGMA user_version = ${FORMAT}`)
      return 'writable' as const
    })
    return result instanceof SqliteError ? result.failure : result
  }

  close (): void {
    // SQLite leaves the log of a moved file where it is, beside the file that is now at the path.
    if (this.#isDisplaced()) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    this.#database.close()
  }

  /** The result of the work once it is committed; or why it is not, or may not be. */
  #transaction<T> (lockWaitMs: number, work: () => T): T | SqliteError {
    let inCommit = false
    try {
      const timeout = Math.max(Math.trunc(lockWaitMs), 0)
      if (lockWaitMs !== this.#lockWaitMs) this.#database.exec(`PRAGMA busy_timeout = ${timeout}`)
      this.#lockWaitMs = lockWaitMs
      this.#database.exec('BEGIN IMMEDIATE')
      if (this.#isDisplaced()) this.#fault = displaced(this.path, 'refused')
      if (this.#fault !== undefined) throw this.#fault
      const result = work()
      inCommit = true
      this.#database.exec('COMMIT')
      // Otherwise the plants are in the old file.
      if (this.#isDisplaced()) throw displaced(this.path, 'unknown')
      return result
    } catch (error) {
      this.#rollBack()
      const result = transactionError(error, inCommit)
      // Of later transactions, nothing is committed.
      if (result.failure.reach === 'connection') this.#fault = new SqliteError('busy', result.message, 'connection')
      return result
    }
  }

  #rollBack (): void {
    try {
      this.#database.exec('ROLLBACK')
    } catch {
      // There is no transaction, or the connection is broken; the original error is reported.
    }
  }

  /** SQLite keeps writing to a file that was deleted or replaced: only its path reveals it. */
  #isDisplaced (): boolean {
    return identityOf(this.path) !== this.#file
  }
}

function refusedByTrigger (does: 'ignores' | 'changes'): SqliteError {
  return new SqliteError('refused', `the table refuses the plant: a trigger ${does} it`, 'plant')
}

function displaced (path: string, kind: FailureKind): SqliteError {
  return new SqliteError(kind, `${path} was deleted, moved or replaced while it was open: put the right file there, and restart`)
}

/** The value to bind for a text: `@photostructure/sqlite` cuts off strings at a NUL, but not bytes. */
function bindable (text: string | null): string | Uint8Array | null {
  return text?.includes('\0') ? Buffer.from(text) : text
}
