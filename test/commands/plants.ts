import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { NewPlant } from '../../src/plant.js'
import { PlantsTable } from '../../src/stores/sqlite/plants-table.js'
import type { Entry, PlantSource } from '../../src/service/commands/sources/plant-source.js'
import { DatabaseSync, openSqlite } from '../support/stores/sqlite-file.js'

/**
 * Plants with edge cases: the limits of int64 and of doubles, NUL, BOM, replacement characters, line separators, empty
 * and long texts.
 */
export const hardPlants: readonly NewPlant[] = [
  { id: -(2n ** 63n), name: 'lowest' },
  { id: -(2n ** 53n) - 1n, name: 'below the doubles', tag: '-' },
  { id: -1n, name: 'a\0b', tag: '\0' },
  { id: 0n, name: '', tag: '' },
  { id: 1n, name: '\0' },
  { id: 2n, name: '\ufeff', tag: 'a BOM\ufeff' },
  { id: 3n, name: '\ufffd', tag: '\uffff\u{10ffff}' },
  { id: 4n, name: '"\\/\b\f\n\r\t\u2028\u2029\x7f', tag: 'Kaktus 🌵 e\u0301' },
  { id: 5n, name: 'n'.repeat(300_000), tag: '🌵'.repeat(100_000) },
  { id: 6n, name: '\0'.repeat(100_000) },
  { id: 2n ** 53n + 1n, name: 'beyond the doubles' },
  { id: 2n ** 63n - 1n, name: 'highest', tag: 'tag' }
]

/** Plants with consecutive ids, from 0 by default. */
export function manyPlants (count: number, from = 0): NewPlant[] {
  return Array.from({ length: count }, (_, i) => ({
    id: BigInt(from + i), name: `plant ${from + i}`, ...(i % 2 === 1 && { tag: 'odd' })
  }))
}

/** Plants as a source reads them, in pages of a size. */
export async function * pagesOf (plants: readonly NewPlant[], size = 1): AsyncGenerator<Entry[]> {
  const entries = plants.map(plant => ({ where: `id ${plant.id}`, plant }))
  for (let start = 0; start < entries.length; start += size) yield entries.slice(start, start + size)
}

/** Everything that a source has. */
export async function entriesOf (source: PlantSource): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const page of source.pages(new AbortController().signal)) entries.push(...page)
  return entries
}

/** Writes plants to `plants.db` in a folder, which is created if necessary. */
export function fill (folder: string, plants: readonly NewPlant[]): void {
  mkdirSync(folder, { recursive: true })
  const table = new PlantsTable(DatabaseSync, join(folder, 'plants.db'))
  table.write(plants.map(({ id, name, tag = null }) => [id, name, tag]))
  table.close()
}

/** The files in a folder that are not complete yet. */
export const partial = (folder: string) => readdirSync(folder).filter(name => name.includes('.partial'))

/** Every byte of the plants in a database file that meet a condition: id, and name and tag as hexadecimal digits. */
export function bytesOfPlants (path: string, condition = 'true'): unknown[] {
  const database = openSqlite(path)
  const columns = 'id, typeof(name), hex(name), typeof(tag), hex(tag)'
  const select = database.prepare(`SELECT ${columns} FROM plants WHERE ${condition} ORDER BY id`)
  select.setReadBigInts(true)
  const rows = select.all()
  database.close()
  return rows
}
