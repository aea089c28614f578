import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import type { CreateOutcome } from '../store.js'
import { identityOf, openDatabase, type DatabaseClass } from './database.js'
import { CODE, failureOf, refusalOf, resultCode, SqliteError, type Failure } from './sqlite-error.js'
import { FORMAT } from './table-format.js'

const INSERT = 'INSERT INTO plants(id, name, tag) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT))'

const IGNORED: Failure = { kind: 'refused', message: 'the table refuses the plant: a trigger ignores it' }

export type Row = readonly [id: bigint, name: string, tag: string | null]
export type RowResult = CreateOutcome | Failure

/** The plants in an SQLite database. Every call blocks the thread. */
export class PlantsTable {
  /** The identity of the file. */
  readonly file: string | undefined
  readonly #database: DatabaseSyncInstance
  // Prepared, since parsing them takes 0.5 µs of each transaction.
  readonly #begin: StatementSyncInstance
  readonly #commit: StatementSyncInstance
  readonly #findTrigger: StatementSyncInstance
  readonly #find: StatementSyncInstance
  readonly #insert: StatementSyncInstance
  readonly #insertAmongTriggers: StatementSyncInstance
  /** Whether another file, or none, is at the path: then nothing more is written. */
  #isDisplaced = false

  /** @param openedFile the identity of the file that this process had open before: no other one is opened */
  constructor (Database: DatabaseClass, private readonly path: string, openedFile?: string) {
    // Before it is opened, so that its replacement since is noticed.
    const file = identityOf(path)
    if (openedFile !== undefined && openedFile !== file) throw new SqliteError('refused', displacement(path))
    const database = openDatabase(Database, path, openedFile !== undefined)
    this.#database = database
    this.file = file ?? identityOf(path)
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#findTrigger = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'trigger'")
    // In SQL, which does not stop at a NUL as reading the text back does; and whatever the columns' collation is.
    this.#find = database.prepare('SELECT name = CAST(? AS TEXT) COLLATE BINARY AND tag IS CAST(? AS TEXT) COLLATE BINARY AS same FROM plants WHERE id = ?')
    this.#insert = database.prepare(INSERT)
    // Returns no row if a trigger ignores the plant, and takes 1.2 µs longer.
    this.#insertAmongTriggers = database.prepare(`${INSERT} RETURNING 1`)
  }

  /**
   * Stores rows durably, in the file that is at the path, in one transaction.
   * @returns the result of each row; or why none of them is stored, or why that is unknown
   */
  write (rows: readonly Row[]): RowResult[] | Failure {
    return this.#transaction(() => {
      const hasTriggers = this.#findTrigger.get() !== undefined
      return rows.map(row => this.#create(row, hasTriggers))
    })
  }

  #create (row: Row, hasTriggers: boolean): RowResult {
    const [id, name, tag] = row
    const insert = hasTriggers ? this.#insertAmongTriggers : this.#insert
    let refusal: Failure
    try {
      // `run` would return the number of changes: on Node 20, it takes 1.4 µs, and this 0.9.
      const inserted = insert.get(id, bindable(name), bindable(tag))
      if (!hasTriggers || inserted !== undefined) return 'stored'
      refusal = IGNORED
    } catch (error) {
      refusal = refusalOf(error)
      if (resultCode(error) !== CODE.CONSTRAINT) return refusal
    }
    if (hasTriggers) this.#requireTransaction(refusal)
    // The constraint is that of the id, of another unique index, or of a trigger.
    return this.#existing(row) ?? refusal
  }

  /** @throws {SqliteError} if a trigger has ended the transaction: each later insert would be committed by itself */
  #requireTransaction (refusal: Failure): void {
    try {
      this.#begin.get()
    } catch {
      // There cannot be one within another.
      return
    }
    throw new SqliteError('refused', `${refusal.message}, and ends the transaction with all plants beside it`)
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
    return this.#transaction(() => {
      // Fails if the table was dropped, or if a trigger needs a table that does not exist.
      this.#database.exec(`SELECT 1 FROM sqlite_schema; EXPLAIN ${INSERT}`)
      if (thoroughly) this.#database.exec(`PRAGMA user_version = ${FORMAT}`)
      return 'writable'
    })
  }

  close (): void {
    // SQLite leaves the log of a moved file where it is, beside the file that is now at the path.
    if (identityOf(this.path) !== this.file) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    this.#database.close()
  }

  /** The result of the work once it is committed; or why it is not, or may not be. */
  #transaction<T> (work: () => T): T | Failure {
    if (this.#isDisplaced) return { kind: 'refused', message: displacement(this.path) }
    let result: T
    let inCommit = false
    try {
      this.#begin.get()
      result = work()
      inCommit = true
      this.#commit.get()
    } catch (error) {
      this.#rollBack()
      return failureOf(error, inCommit)
    }
    // SQLite keeps writing to a file that was deleted or replaced: only its path reveals it.
    this.#isDisplaced = identityOf(this.path) !== this.file
    return this.#isDisplaced ? { kind: 'unknown', message: displacement(this.path) } : result
  }

  #rollBack (): void {
    try {
      this.#database.exec('ROLLBACK')
    } catch {
      // There is no transaction, or the connection is broken; the original error is reported.
    }
  }
}

function displacement (path: string): string {
  return `${path} was deleted, moved or replaced while it was open: put the right file there, and restart`
}

/** The value to bind for a text: `@photostructure/sqlite` cuts off strings at a NUL, but not bytes. */
function bindable (text: string | null): string | Uint8Array | null {
  return text?.includes('\0') ? Buffer.from(text) : text
}
