import { randomFillSync } from 'node:crypto'
import { createTable, openDatabase } from './sqlite-binding.js'

const batch = 250_000

/**
 * Brings the database up to so many plants with random int64 ids. Each transaction's ids are sorted, so that it goes
 * through the tree once in order; the tree still grows as with random ids, its pages as full as theirs.
 */
export function prefill (path: string, plants: number, progress: (done: number) => void = () => {}): void {
  const database = openDatabase(path)
  try {
    database.exec('PRAGMA journal_mode=WAL')
    database.exec('PRAGMA synchronous=OFF')
    database.exec('PRAGMA cache_size=-1048576')
    database.exec(createTable)
    // Whatever collides with what is there is one fewer; the loop looks again.
    const insert = database.prepare('INSERT OR IGNORE INTO plants(id, name, tag) VALUES(?, ?, ?)')
    const before = Number(database.prepare('SELECT count(*) AS count FROM plants').get()?.count)
    const changes = database.prepare('SELECT total_changes() AS count')
    for (let done = before; done < plants; done = before + Number(changes.get()?.count)) {
      database.exec('BEGIN IMMEDIATE')
      for (const id of randomFillSync(new BigInt64Array(Math.min(batch, plants - done))).sort()) {
        insert.run(id, 'Monstera deliciosa', 'Araceae')
      }
      database.exec('COMMIT')
      progress(done)
    }
    database.exec('PRAGMA synchronous=FULL')
    database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
  } finally {
    database.close()
  }
}
