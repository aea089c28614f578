import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import { FORMAT, growLog, openDatabase, rollBack, type DatabaseClass } from './database.js'
import { identityOf, isSame, OpenFiles, type FilesState } from './open-files.js'
import { failureOf, SqliteFailure } from './sqlite-failure.js'
import { SAME, TAKEN, type PlantColumns } from './thread-messages.js'

/** Milliseconds. A lock that another program holds is waited for in turns no longer than this. */
export const LOCK_WAIT_MS = 250

interface OpenOptions {
  /** Whether this process had the file open before: then it is not made. */
  again?: boolean
  /** How long a lock that another program holds is waited for. */
  lockWaitMs?: number
}

/** The plants in an SQLite database. Every call blocks: it belongs in a worker thread. */
export class SqlitePlantsTable {
  readonly #path: string
  readonly #database: DatabaseSyncInstance
  readonly #files: OpenFiles
  readonly #begin: StatementSyncInstance
  readonly #commit: StatementSyncInstance
  readonly #insert: StatementSyncInstance
  readonly #find: StatementSyncInstance
  #lockWaitMs: number
  /** The files were not in place when they were last looked at. */
  #isDisplaced = false

  private constructor (path: string, database: DatabaseSyncInstance, lockWaitMs: number) {
    this.#path = path
    this.#database = database
    this.#lockWaitMs = lockWaitMs
    this.#files = new OpenFiles(path)
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#insert = database.prepare('INSERT INTO plants(id, name, tag) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT)) ON CONFLICT(id) DO NOTHING')
    // Compared in SQL, which does not stop at a NUL as reading the text back does.
    this.#find = database.prepare('SELECT 1 FROM plants WHERE id = ? AND name = CAST(? AS TEXT) AND tag IS CAST(? AS TEXT)')
  }

  /**
   * Opens the file, or makes it with its folders.
   * @throws {StoreUnusable} if it is not ours to write
   * @throws {SqliteFailure} if it is not there though it was open before
   */
  static open (
    Database: DatabaseClass, path: string, { again = false, lockWaitMs = LOCK_WAIT_MS }: OpenOptions = {}
  ): SqlitePlantsTable {
    const found = identityOf(path)
    if (found === undefined && again) throw displacement(path, 'missing')
    const database = openDatabase(Database, path, again, lockWaitMs)
    // It is unknown which of the two is open now.
    if (found !== undefined && !isSame(found, identityOf(path))) {
      database.close()
      throw displacement(path, 'replaced')
    }
    return new SqlitePlantsTable(path, database, lockWaitMs)
  }

  /**
   * Stores all plants in one transaction, durably, in the file that is at the path.
   * @param lockWaitMs how long a lock that another program holds is waited for
   * @returns the index in `OUTCOMES` for each; null if all are `stored`
   * @throws {SqliteFailure} if none of them is stored, or if that is not known
   */
  write ({ ids, names, tags }: PlantColumns, lockWaitMs = LOCK_WAIT_MS): Uint8Array | null {
    let outcomes: Uint8Array | null = null
    this.#transaction(lockWaitMs, () => {
      for (let i = 0; i < ids.length; i++) {
        const id = ids[i] as bigint
        const name = whole(names[i] as string)
        const tag = whole(tags[i] as string | null)
        if (this.#insert.run(id, name, tag).changes === 1) continue
        outcomes ??= new Uint8Array(ids.length)
        outcomes[i] = this.#find.get(id, name, tag) === undefined ? TAKEN : SAME
      }
    })
    return outcomes
  }

  /**
   * Makes sure that a write would be possible now.
   * @param thoroughly commits a page, as after a write that failed
   * @throws {SqliteFailure} if it would not
   */
  check (thoroughly: boolean): void {
    this.#transaction(LOCK_WAIT_MS, () => {
      if (thoroughly) this.#database.exec(`PRAGMA user_version = ${FORMAT}`)
    })
  }

  /** Gives the write-ahead log its size, once. */
  growLog (): void {
    growLog(this.#database, this.#path)
  }

  /** @throws {Error} if the files are not in place and cannot be left yet: then they stay open */
  close (): void {
    this.#isDisplaced = this.#files.state() !== 'inPlace'
    if (this.#isDisplaced) this.#leaveLog()
    this.#database.close()
  }

  #transaction (lockWaitMs: number, work: () => void): void {
    if (this.#isDisplaced) this.#comeBack()
    let inCommit = false
    try {
      this.#waitForLocks(lockWaitMs)
      this.#begin.run()
      work()
      inCommit = true
      this.#commit.run()
    } catch (error) {
      rollBack(this.#database)
      throw failureOf(error, inCommit)
    }
    const state = this.#files.state()
    if (state === 'inPlace') return
    this.#isDisplaced = true
    throw displacement(this.#path, state, true)
  }

  #waitForLocks (milliseconds: number): void {
    if (milliseconds === this.#lockWaitMs) return
    this.#database.exec(`PRAGMA busy_timeout = ${milliseconds}`)
    this.#lockWaitMs = milliseconds
  }

  /**
   * Continues if the files are in place again. While there is no file, this one stays open: it could be put back. If
   * there is another, this one is closed.
   * @throws {SqliteFailure} if they are not in place
   */
  #comeBack (): void {
    const state = this.#files.state()
    this.#isDisplaced = state !== 'inPlace'
    if (state === 'inPlace') return
    if (state !== 'missing') this.#leaveLog()
    throw displacement(this.#path, state)
  }

  /** Brings what is in the log into the file that is open, and takes the log away from the file that is at the path. */
  #leaveLog (): void {
    rollBack(this.#database)
    const result = this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
    if (result.busy !== 0) throw new SqliteFailure(`${this.#path} was replaced while another program is reading its log: end that program`)
    this.#files.deleteLog()
  }
}

/** Why nothing can be written to the files that are open. */
function displacement (path: string, state: Exclude<FilesState, 'inPlace'>, perhapsStored = false): SqliteFailure {
  if (state === 'missing') {
    return new SqliteFailure(`${path} was deleted or moved away while it was open: put it back, or restart to begin with an empty one`, { perhapsStored, permanent: true })
  }
  const what = state === 'replaced' ? `${path} was replaced` : `${path}-wal or ${path}-shm was deleted or replaced`
  return new SqliteFailure(`${what} while it was open: the file that is there now is opened afresh`, { perhapsStored, reopen: true })
}

/** A text as it has to be bound: `@photostructure/sqlite` cuts off at a NUL what is not bytes. */
function whole (text: string | null): string | Uint8Array | null {
  return text?.includes('\0') === true ? Buffer.from(text) : text
}
