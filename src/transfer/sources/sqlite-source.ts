import { existsSync } from 'node:fs'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { NewPlant } from '../../stores/plant-store.js'
import { sqliteBinding } from '../../stores/sqlite/database.js'
import { TransferFault, unreadable } from '../transfer-fault.js'
import { PAGE_PLANTS, SourcePage, type PlantSource } from './plant-source.js'

const LOWEST_ID = -(2n ** 63n)

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The plants of a database file in the order of their ids, a page at a time: every plant stored at the start, and
 * perhaps later ones, since a service can keep writing to the file. Reading stops at the highest id of the start, since
 * a service could create plants faster than they are copied.
 * @returns the source, and the size of the file in bytes
 * @throws {TransferFault} if there is no such file, or if it is not one of this package's
 */
export async function openSqliteFile (path: string): Promise<PlantSource & { readonly bytes: number }> {
  if (!existsSync(path)) throw new TransferFault(`there is no ${path}: set DATA_DIR to the folder of plants.db`)
  const { DatabaseSync } = await sqliteBinding()
  let database: DatabaseSyncInstance | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true })
    database.exec('PRAGMA busy_timeout = 5000')
    const { encoding } = database.prepare('PRAGMA encoding').get()
    if (encoding !== 'UTF-8') throw new Error(`its text is in ${encoding}, not in UTF-8`)
    return sqliteSource(database, path)
  } catch (error) {
    database?.close()
    throw unreadable(path, error)
  }
}

function sqliteSource (database: DatabaseSyncInstance, path: string) {
  // As bytes: reading text replaces invalid UTF-8, and in @photostructure/sqlite stops at a NUL.
  const select = database.prepare(`SELECT id, CAST(name AS BLOB) AS name, CAST(tag AS BLOB) AS tag,
    typeof(name) = 'text' AND typeof(tag) IN ('text', 'null') AS isText
    FROM plants WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ${PAGE_PLANTS}`)
  select.setReadBigInts(true)
  const highest = database.prepare('SELECT max(id) AS id FROM plants')
  highest.setReadBigInts(true)
  const highestId: bigint = highest.get()?.id ?? LOWEST_ID - 1n
  const { plants: size, bytes } = database.prepare(`SELECT (SELECT count(*) FROM plants) AS plants,
    page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size`).get()

  /** Reads plants into a page, and returns the id up to which they are read. */
  function read (from: bigint, page: SourcePage): bigint {
    for (const row of select.iterate(from, highestId)) {
      const plant = plantOf(row)
      if (plant !== undefined) page.add(plant)
      else page.invalid.push({ place: `id ${row.id}`, reason: 'its name or tag is not UTF-8 text' })
      if (page.isFull) return row.id
    }
    return highestId
  }

  const source = {
    size,
    bytes,
    position: 0,
    async * pages (signal: AbortSignal) {
      try {
        for (let next = LOWEST_ID; next <= highestId && !signal.aborted;) {
          const page = new SourcePage()
          next = read(next, page) + 1n
          source.position += page.length
          yield page
        }
      } catch (error) {
        throw unreadable(path, error)
      }
    },
    async close () { database.close() }
  }
  return source
}

interface Row {
  id: bigint
  name: Uint8Array
  tag: Uint8Array | null
  isText: bigint
}

function plantOf ({ id, name, tag, isText }: Row): NewPlant | undefined {
  if (isText === 0n) return undefined
  try {
    const plant = { id, name: decoder.decode(name) }
    return tag === null ? plant : { ...plant, tag: decoder.decode(tag) }
  } catch {
    return undefined
  }
}
