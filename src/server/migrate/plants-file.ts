import { existsSync } from 'node:fs'
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import { StoreUnusable, type NewPlant } from '../../stores/plant-store.js'
import { sqliteBinding } from '../../stores/sqlite-plants-table.js'

/** A row whose name or tag is no text that a plant may have. */
export interface UnreadableRow {
  id: bigint
  unreadable: true
}

const PAGE_ROWS = 1_000
const PAGE_BYTES = 4_000_000
const LOWEST_ID = -(2n ** 63n)

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The plants of a database file, only read: the service may go on with it. */
export class PlantsFile {
  readonly #database: DatabaseSyncInstance
  readonly #page: StatementSyncInstance
  readonly #ids: StatementSyncInstance

  private constructor (database: DatabaseSyncInstance) {
    this.#database = database
    // As text, @photostructure/sqlite would read them up to a NUL only.
    this.#page = database.prepare(`SELECT id, CAST(name AS BLOB) AS name, CAST(tag AS BLOB) AS tag FROM plants WHERE id >= ? ORDER BY id LIMIT ${PAGE_ROWS}`)
    this.#ids = database.prepare('SELECT id FROM plants WHERE id >= ? ORDER BY id LIMIT ?')
    for (const statement of [this.#page, this.#ids]) statement.setReadBigInts(true)
  }

  /** @throws {StoreUnusable} where there is no such file, or where it is not one of ours */
  static async open (path: string): Promise<PlantsFile> {
    if (!existsSync(path)) throw new StoreUnusable(`there is no ${path}: set DATA_DIR to the folder of the plants.db to be moved`)
    const { DatabaseSync } = await sqliteBinding()
    try {
      return new PlantsFile(new DatabaseSync(path, { readOnly: true }))
    } catch (error) {
      throw new StoreUnusable(`${path} cannot be read: ${(error as Error).message}`)
    }
  }

  count (): number {
    const { plants } = this.#database.prepare('SELECT count(*) AS plants FROM plants').get() as { plants: number }
    return plants
  }

  /** All plants by id, in pages that are read one at a time: a plant that is created meanwhile may be among them. */
  * pages (): Generator<(NewPlant | UnreadableRow)[]> {
    let next: bigint | undefined = LOWEST_ID
    while (next !== undefined) {
      const page: (NewPlant | UnreadableRow)[] = []
      let bytes = 0
      for (const row of this.#page.iterate(next) as Iterable<Row>) {
        page.push(plantOf(row))
        bytes += (row.name?.length ?? 0) + (row.tag?.length ?? 0)
        if (bytes > PAGE_BYTES) break
      }
      if (page.length > 0) yield page
      next = after(page.at(-1)?.id)
    }
  }

  /** All ids, in pages. */
  * ids (rows: number): Generator<bigint[]> {
    let next: bigint | undefined = LOWEST_ID
    while (next !== undefined) {
      const page = (this.#ids.all(next, rows) as { id: bigint }[]).map(({ id }) => id)
      if (page.length > 0) yield page
      next = after(page.at(-1))
    }
  }

  close (): void {
    this.#database.close()
  }
}

interface Row {
  id: bigint
  name: Uint8Array | null
  tag: Uint8Array | null
}

function plantOf ({ id, name, tag }: Row): NewPlant | UnreadableRow {
  try {
    const plant: NewPlant = { id, name: decoder.decode(name as Uint8Array) }
    return tag === null ? plant : { ...plant, tag: decoder.decode(tag) }
  } catch {
    return { id, unreadable: true }
  }
}

function after (id: bigint | undefined): bigint | undefined {
  return id === undefined || id === 2n ** 63n - 1n ? undefined : id + 1n
}
