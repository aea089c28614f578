import { existsSync, statSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { messageOf } from '../../error-message.js'
import type { NewPlant } from '../../plant-store.js'
import { hasLog, isInWalMode, requireOwnLog, sqliteBinding } from '../../stores/sqlite/database.js'
import { isNotWritable } from '../../stores/sqlite/sqlite-error.js'
import { CopyError, type PlantSource } from './plant-source.js'

const LOWEST_ID = -(2n ** 63n)
/** Rows are read until they have about this many bytes together. */
const PAGE_BYTES = 1_000_000
const BYTES_PER_ROW = 1_000

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

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

  return reading(path, () => {
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
  })
}

function reading<T> (path: string, read: () => T): T {
  try {
    return read()
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
  // As bytes: reading text replaces invalid UTF-8, and in @photostructure/sqlite stops at a NUL.
  const select = database.prepare(`SELECT id, CAST(name AS BLOB) AS name, CAST(tag AS BLOB) AS tag,
    typeof(name) = 'text' AND typeof(tag) IN ('text', 'null') AS isText
    FROM plants WHERE id BETWEEN ? AND ? ORDER BY id`)
  select.setReadBigInts(true)
  const extent = database.prepare('SELECT (SELECT count(*) FROM plants) AS size, (SELECT max(id) FROM plants) AS highest')
  extent.setReadBigInts(true)
  const { size, highest } = reading(path, () => extent.get())
  const highestId: bigint = highest ?? LOWEST_ID

  /** Reads the next page. A statement that stays open would keep the log of a service from being emptied. */
  function readPage (from: bigint): Row[] {
    const rows: Row[] = []
    let bytes = 0
    for (const row of select.iterate(from, highestId)) {
      rows.push(row)
      bytes += BYTES_PER_ROW + (row.name?.length ?? 0) + (row.tag?.length ?? 0)
      if (bytes >= PAGE_BYTES) break
    }
    return rows
  }

  return {
    async * pages () {
      try {
        for (let next = LOWEST_ID; next <= highestId;) {
          const rows = reading(path, () => readPage(next))
          requireUnchanged()
          yield rows.map(row => ({ where: `id ${row.id}`, plant: plantOf(row) }))
          next = (rows.at(-1)?.id ?? highestId) + 1n
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

interface Row {
  id: bigint
  name: Uint8Array
  tag: Uint8Array | null
  isText: bigint
}

/** Returns the plant of a row, or why it is not a plant. */
function plantOf ({ id, name, tag, isText }: Row): NewPlant | string {
  try {
    if (isText === 0n) throw new TypeError()
    const plant = { id, name: decoder.decode(name) }
    return tag === null ? plant : { ...plant, tag: decoder.decode(tag) }
  } catch {
    return 'its name or tag is not UTF-8 text'
  }
}
