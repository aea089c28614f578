import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import { FORMAT, growLog, openDatabase, resultCode, rollBack, SQLITE_BUSY, SQLITE_FULL } from './sqlite-database.js'

/** Plants side by side, as they cross to the worker thread: three flat arrays are cheaper to hand over than many objects. */
export interface PlantColumns {
  ids: BigInt64Array
  names: string[]
  tags: (string | null)[]
}

/** The plants in an SQLite database. Every call blocks: it belongs into a worker thread. */
export class SqlitePlantsTable {
  readonly #path: string
  readonly #database: DatabaseSyncInstance
  readonly #begin: StatementSyncInstance
  readonly #commit: StatementSyncInstance
  readonly #insert: StatementSyncInstance
  readonly #find: StatementSyncInstance

  private constructor (path: string, database: DatabaseSyncInstance) {
    this.#path = path
    this.#database = database
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#insert = database.prepare('INSERT INTO plants(id, name, tag) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT)) ON CONFLICT(id) DO NOTHING')
    // Compared in SQL, which does not stop at a NUL as reading the text back does.
    this.#find = database.prepare('SELECT 1 FROM plants WHERE id = ? AND name = CAST(? AS TEXT) AND tag IS CAST(? AS TEXT)')
  }

  /**
   * Opens the file, or makes it with its folders.
   * @throws {FileUnusable} where it is not ours to write
   */
  static async open (path: string): Promise<SqlitePlantsTable> {
    return new SqlitePlantsTable(path, await openDatabase(path))
  }

  /**
   * Stores all plants in one transaction, durably.
   * @returns an outcome for each, as its place in `outcomes`; null where all are new
   * @throws {WriteFailure} where none of them is stored, or where that is not known
   */
  write ({ ids, names, tags }: PlantColumns): Uint8Array | null {
    let outcomes: Uint8Array | null = null
    try {
      this.#begin.run()
      for (let i = 0; i < ids.length; i++) {
        const id = ids[i] as bigint
        const name = whole(names[i] as string)
        const tag = whole(tags[i] as string | null)
        if (this.#insert.run(id, name, tag).changes === 1) continue
        outcomes ??= new Uint8Array(ids.length)
        outcomes[i] = this.#find.get(id, name, tag) === undefined ? 2 : 1
      }
    } catch (error) {
      throw this.#failure(error, false)
    }
    try {
      this.#commit.run()
    } catch (error) {
      // The commit record may have reached the disk all the same, unless there was no room for it.
      throw this.#failure(error, ![SQLITE_BUSY, SQLITE_FULL].includes(resultCode(error)))
    }
    return outcomes
  }

  /**
   * Makes sure that a write would be possible now.
   * @param thoroughly commits a page, where the last write failed
   * @throws {WriteFailure} where it would not
   */
  check (thoroughly: boolean): void {
    try {
      this.#begin.run()
      if (thoroughly) this.#database.exec(`PRAGMA user_version = ${FORMAT}`)
      this.#commit.run()
    } catch (error) {
      throw this.#failure(error, false)
    }
  }

  /** Gives the write-ahead log its size, once. */
  growLog (): void {
    growLog(this.#database, this.#path)
  }

  close (): void {
    this.#database.close()
  }

  #failure (error: unknown, perhapsStored: boolean): WriteFailure {
    rollBack(this.#database)
    const code = resultCode(error)
    // After these two the connection is sound; after any other a new one looks at the file afresh.
    return new WriteFailure((error as Error).message, perhapsStored, code === SQLITE_BUSY || code === SQLITE_FULL)
  }
}

/** A transaction that failed. */
export class WriteFailure extends Error {
  /**
   * @param perhapsStored whether its plants may be stored nevertheless
   * @param goOn whether the same connection can go on
   */
  constructor (message: string, readonly perhapsStored: boolean, readonly goOn: boolean) {
    super(message)
  }
}

/** A text as it has to be bound: `@photostructure/sqlite` cuts off at a NUL what is not bytes. */
function whole (text: string | null): string | Uint8Array | null {
  return text?.includes('\0') === true ? Buffer.from(text) : text
}
