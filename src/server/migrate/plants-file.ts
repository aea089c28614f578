import { existsSync } from 'node:fs'
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import { StoreUnusable, type NewPlant } from '../../stores/plant-store.js'
import { sqliteBinding } from '../../stores/sqlite-database.js'

/** A row whose name or tag is no text that a plant may have. */
export interface UnreadableRow {
  id: bigint
  unreadable: true
}

const PAGE_ROWS = 1_000
const PAGE_CHARACTERS = 4_000_000
const LOWEST_ID = -(2n ** 63n)

/** What stands for bytes that are no UTF-8. */
const REPLACEMENT = '\ufffd'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The plants of a database file, only read: the service may go on with it. */
export class PlantsFile {
  readonly #database: DatabaseSyncInstance
  readonly #page: StatementSyncInstance
  readonly #bytes: StatementSyncInstance
  readonly #ids: StatementSyncInstance

  private constructor (database: DatabaseSyncInstance) {
    this.#database = database
    this.#page = database.prepare(`SELECT id, name, tag, instr(name, char(0)) > 0 OR instr(tag, char(0)) > 0 AS cut FROM plants WHERE id >= ? ORDER BY id LIMIT ${PAGE_ROWS}`)
    this.#bytes = database.prepare('SELECT CAST(name AS BLOB) AS name, CAST(tag AS BLOB) AS tag FROM plants WHERE id = ?')
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
      let characters = 0
      for (const row of this.#page.iterate(next) as Iterable<Row>) {
        page.push(isExact(row) ? plantOf(row) : this.#exactly(row.id))
        characters += row.name.length + (row.tag?.length ?? 0)
        if (characters > PAGE_CHARACTERS) break
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

  /** Reads the bytes, at twice the cost. */
  #exactly (id: bigint): NewPlant | UnreadableRow {
    const { name, tag } = this.#bytes.get(id) as { name: Uint8Array, tag: Uint8Array | null }
    try {
      return plantOf({ id, name: decoder.decode(name), tag: tag === null ? null : decoder.decode(tag) })
    } catch {
      return { id, unreadable: true }
    }
  }

  close (): void {
    this.#database.close()
  }
}

interface Row {
  id: bigint
  name: string
  tag: string | null
  /** Whether there is a NUL, at which @photostructure/sqlite stops reading. */
  cut: bigint | null
}

/** Whether a row was read as it is: nothing was cut off, nothing replaced, and it is text. */
function isExact ({ name, tag, cut }: Row): boolean {
  const isText = typeof name === 'string' && (tag === null || typeof tag === 'string')
  return isText && !cut && !name.includes(REPLACEMENT) && !(tag ?? '').includes(REPLACEMENT)
}

function plantOf ({ id, name, tag }: Pick<Row, 'id' | 'name' | 'tag'>): NewPlant {
  return tag === null ? { id, name } : { id, name, tag }
}

function after (id: bigint | undefined): bigint | undefined {
  return id === undefined || id === 2n ** 63n - 1n ? undefined : id + 1n
}
