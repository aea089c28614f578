import { setImmediate as turn } from 'node:timers/promises'
import { openSqliteFile } from '../servers/stores/sqlite-file.js'

/** Creates a database of plants with random ids, so that its pages are about as full as if it grew one at a time. */
export async function fillPlantsFile (path: string, plants: number): Promise<void> {
  const database = await openSqliteFile(path)
  database.exec('PRAGMA synchronous=OFF; PRAGMA cache_size=-1048576')
  const insert = database.prepare(`INSERT OR IGNORE INTO plants
    WITH RECURSIVE turn(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM turn WHERE n < min(250000, ?))
    SELECT 1000000000000000 + 2 * abs(random() % 4000000000000000) AS id, 'Monstera deliciosa', 'Araceae' FROM turn ORDER BY id`)
  for (let left = plants; left > 0; left -= Number(insert.run(left).changes)) await turn()
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

export async function countPlants (path: string): Promise<number> {
  const database = await openSqliteFile(path)
  const { plants } = database.prepare('SELECT count(*) AS plants FROM plants').get() ?? {}
  database.close()
  return Number(plants)
}
