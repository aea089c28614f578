import { isUtf8 } from 'node:buffer'
import { existsSync, statSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { messageOf } from '../../error-message.js'
import { hasLog, isInWalMode, requireOwnLog, sqliteBinding } from '../../stores/sqlite/database.js'
import { isNotWritable } from '../../stores/sqlite/sqlite-error.js'
import { CopyError, readEntry, type Entry, type PlantSource } from './plant-source.js'

const LOWEST_ID = -(2n ** 63n)
/** Rows are read until they have about this many bytes together. */
const PAGE_BYTES = 1_000_000
const BYTES_PER_ROW = 1_000

/**
 * Opens a database file for reading, while a service can keep writing to it. Where nothing can be written, not even the
 * index of a log, a file without a log is read as it is.
 * @returns the connection, and a function that throws a CopyError if what was read may be wrong
 * @throws {CopyError} if there is no such file, or if it is not one of this package's
 */
export async function openPlantsFile (path: string) {
  if (!existsSync(path)) throw new CopyError(`there is no ${path}: set DATA_DIR to the folder of plants.db`)
  const { DatabaseSync } = await sqliteBinding()

  function connect (location: string): DatabaseSyncInstance {
    const database = new DatabaseSync(location, { readOnly: true })
    database.exec('PRAGMA busy_timeout = 5000')
    const { encoding } = database.prepare('PRAGMA encoding').get()
    if (encoding !== 'UTF-8') throw new Error(`its text is in ${encoding}, not in UTF-8`)
    database.prepare('SELECT id, name, tag FROM plants')
    return database
  }

  try {
    requireOwnLog(path)
    try {
      return { database: connect(path), requireUnchanged () {} }
    } catch (error) {
      if (!isNotWritable(error)) throw error
      if (hasLog(path) || !isInWalMode(path)) throw new Error(`${messageOf(error)}: copy it, with its -wal if there is one, to a folder that this user can write, and set DATA_DIR to that folder`)
    }
    const { mtimeMs } = statSync(path)
    return {
      database: connect(`${pathToFileURL(path)}?immutable=1`),
      requireUnchanged () {
        if (statSync(path).mtimeMs !== mtimeMs) throw new CopyError(`a service is writing to ${path}, which this user cannot follow: run this again`)
      }
    }
  } catch (error) {
    throw new CopyError(`${path} cannot be read: ${messageOf(error)}`)
  }
}

/**
 * The plants of a database file in the order of their ids. Reading stops at the highest id of the start, since a
 * service could create plants faster than they are copied.
 */
export async function sqliteSource (path: string): Promise<PlantSource> {
  const { database, requireUnchanged } = await openPlantsFile(path)
  const extent = database.prepare('SELECT (SELECT count(*) FROM plants) AS size, (SELECT max(id) FROM plants) AS highest')
  // Text as bytes: reading text replaces invalid UTF-8, and in @photostructure/sqlite stops at a NUL. 0 is no text.
  const select = database.prepare(`SELECT id, iif(typeof(name) = 'text', CAST(name AS BLOB), 0) AS name,
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
      page.push(readEntry(`id ${id}`, () => ({ id, name: textOf(name), tag: textOf(tag) ?? undefined })))
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
          const page = readPage()
          requireUnchanged()
          yield page
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
