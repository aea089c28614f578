import { isUtf8 } from 'node:buffer'
import { statSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { codeOf, messageOf } from '../../../error-message.js'
import { requireOwnLog, sqliteBinding, type DatabaseClass } from '../../../stores/sqlite/database.js'
import { CODE, resultCode } from '../../../stores/sqlite/sqlite-error.js'
import { CopyError, LOWEST_ID, readEntry, type Entry, type PlantSource } from './plant-source.js'

/** Rows are read until they have about this many bytes together. */
const PAGE_BYTES = 1_000_000
const BYTES_PER_ROW = 1_000

/**
 * Opens a database file for reading, while a service may write to it.
 * @throws {CopyError} if there is no such file, or if it is not one of this package's
 */
export async function openPlantsFile (path: string): Promise<DatabaseSyncInstance> {
  const { DatabaseSync } = await sqliteBinding()
  try {
    if (!statSync(path).isFile()) throw new Error('it is not a file')
    requireOwnLog(path)
    return connect(DatabaseSync, path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new CopyError(`there is no ${path}: set DATA_DIR to the folder of plants.db`)
    // Even to read, SQLite makes a log and its index.
    const isDenied = [CODE.READONLY, CODE.CANTOPEN].includes(resultCode(error))
    const advice = isDenied ? ': run this as the user that runs the service, who can write to that folder' : ''
    throw new CopyError(`${path} cannot be read: ${messageOf(error)}${advice}`)
  }
}

function connect (Database: DatabaseClass, path: string): DatabaseSyncInstance {
  const database = new Database(path, { readOnly: true })
  database.exec('PRAGMA busy_timeout = 5000')
  const { encoding } = database.prepare('PRAGMA encoding').get()
  if (encoding !== 'UTF-8') throw new Error(`its text is in ${encoding}, not in UTF-8`)
  database.prepare('SELECT id, name, tag FROM plants')
  return database
}

/** The plants of a database file. */
export async function sqliteSource (path: string): Promise<PlantSource> {
  const database = await openPlantsFile(path)
  const extent = database.prepare('SELECT (SELECT count(*) FROM plants) AS size, (SELECT max(id) FROM plants) AS highest')
  // Text as bytes: reading text replaces invalid UTF-8, and in @photostructure/sqlite stops at a NUL. 0 is no text.
  const select = database.prepare(`SELECT id AS id, iif(typeof(name) = 'text', CAST(name AS BLOB), 0) AS name,
    iif(typeof(tag) IN ('text', 'null'), CAST(tag AS BLOB), 0) AS tag
    FROM plants WHERE id BETWEEN ? AND ? ORDER BY id`)
  for (const statement of [extent, select]) statement.setReadBigInts(true)
  const { size, highest } = extent.get()
  const last: bigint = highest ?? LOWEST_ID
  let next = LOWEST_ID

  /** Reads the next page. A statement that stays open would keep the log of a service from being emptied. */
  function readPage (): Entry[] {
    const page: Entry[] = []
    let bytes = 0
    for (const { id, name, tag } of select.iterate(next, last)) {
      page.push(readEntry(`id ${id}`, () => ({ id, name: textOf(name), tag: textOf(tag) })))
      next = id + 1n
      bytes += BYTES_PER_ROW + (name.length ?? 0) + (tag?.length ?? 0)
      if (bytes >= PAGE_BYTES) return page
    }
    next = last + 1n
    return page
  }

  return {
    async * pages () {
      try {
        while (next <= last) {
          yield readPage()
          // Reading blocks the event loop, which the target, signals and the progress need too.
          await turn()
        }
      } finally {
        database.close()
      }
    },
    part: done => done / Number(size)
  }
}

/** The text of UTF-8 bytes; anything else as it is, for the validator to refuse. */
function textOf (value: unknown): unknown {
  return value instanceof Uint8Array && isUtf8(value) ? Buffer.from(value).toString() : value
}
