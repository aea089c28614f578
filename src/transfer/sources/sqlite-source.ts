import { existsSync } from 'node:fs'
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import { messageOf } from '../../error-message.js'
import type { NewPlant } from '../../stores/plant-store.js'
import { sqliteBinding } from '../../stores/sqlite/database.js'
import { PAGE_PLANTS, SourcePage, type PlantSource } from './plant-source.js'
import { TransferFault } from '../transfer-fault.js'

const LOWEST_ID = -(2n ** 63n)

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The plants of a database file in the order of their ids, a page at a time: every plant stored at the start, and
 * perhaps later ones, since a service can keep writing to the file. Reading stops at the highest id of the start, since
 * a service could create plants faster than they are copied.
 */
export class SqliteSource implements PlantSource {
  readonly size: number
  position = 0
  /** The size of the database file. */
  readonly bytes: number
  readonly #path: string
  readonly #database: DatabaseSyncInstance
  readonly #highestId: bigint
  readonly #page: StatementSyncInstance

  private constructor (path: string, database: DatabaseSyncInstance) {
    this.#path = path
    this.#database = database
    // As bytes: reading text replaces invalid UTF-8, and in @photostructure/sqlite stops at a NUL.
    this.#page = database.prepare(`SELECT id, CAST(name AS BLOB) AS name, CAST(tag AS BLOB) AS tag,
      typeof(name) = 'text' AND typeof(tag) IN ('text', 'null') AS isText
      FROM plants WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ${PAGE_PLANTS}`)
    this.#page.setReadBigInts(true)
    const highest = database.prepare('SELECT max(id) AS id FROM plants')
    highest.setReadBigInts(true)
    this.#highestId = highest.get()?.id ?? LOWEST_ID - 1n
    const { plants, bytes } = database.prepare(`SELECT (SELECT count(*) FROM plants) AS plants,
      page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size`).get()
    this.bytes = bytes
    this.size = plants
  }

  /** @throws {TransferFault} if there is no such file, or if it is not one of this package's */
  static async open (path: string): Promise<SqliteSource> {
    if (!existsSync(path)) throw new TransferFault(`there is no ${path}: set DATA_DIR to the folder of plants.db`)
    const { DatabaseSync } = await sqliteBinding()
    let database: DatabaseSyncInstance | undefined
    try {
      database = new DatabaseSync(path, { readOnly: true })
      database.exec('PRAGMA busy_timeout = 5000')
      return new SqliteSource(path, database)
    } catch (error) {
      database?.close()
      throw unreadable(path, error)
    }
  }

  async * pages (signal: AbortSignal): AsyncGenerator<SourcePage> {
    for (let next = LOWEST_ID; next <= this.#highestId && !signal.aborted;) {
      const page = new SourcePage()
      next = this.#read(next, page) + 1n
      this.position += page.length
      yield page
    }
  }

  /** Reads plants into a page, and returns the id up to which they are read. */
  #read (from: bigint, page: SourcePage): bigint {
    try {
      for (const row of this.#page.iterate(from, this.#highestId)) {
        const plant = plantOf(row)
        if (plant !== undefined) page.add(plant)
        else page.invalid.push({ place: `id ${row.id}`, reason: 'its name or tag is not UTF-8 text' })
        if (page.isFull) return row.id
      }
    } catch (error) {
      throw unreadable(this.#path, error)
    }
    return this.#highestId
  }

  async close (): Promise<void> {
    this.#database.close()
  }
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

function unreadable (path: string, error: unknown): TransferFault {
  return new TransferFault(`${path} cannot be read: ${messageOf(error)}`)
}
