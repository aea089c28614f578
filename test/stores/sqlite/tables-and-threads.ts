import { cpSync, rmSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import type { Test } from 'tap'
import type { DatabaseClass } from '../../../src/stores/sqlite/database.js'
import { PlantsTable } from '../../../src/stores/sqlite/plants-table.js'
import { DatabaseSync, openSqlite, TABLE } from '../../support/stores/sqlite-file.js'

export function openTable (t: Test, path: string, Database: DatabaseClass = DatabaseSync): PlantsTable {
  const table = new PlantsTable(Database, path)
  t.teardown(() => table.close())
  return table
}

/** Makes a file with plants 1 to `count` in its log, as a process leaves it that is killed. */
export function makeWithLog (path: string, count = 1): void {
  const database = openSqlite(`${path}.live`)
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA user_version = 1;
    ${TABLE});
    WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT ${count})
    INSERT INTO plants SELECT id, 'Ficus', NULL FROM n`)
  for (const suffix of ['', '-wal', '-shm']) cpSync(`${path}.live${suffix}`, `${path}${suffix}`)
  database.close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}.live${suffix}`, { force: true })
}

/** The threads started during a test. `kill` makes the latest one die, of a message that it does not understand. */
export function threadsOf (t: Test): { threads: Worker[], kill: () => void } {
  const threads: Worker[] = []
  const note = (worker: Worker) => { threads.push(worker) }
  process.on('worker', note)
  t.teardown(() => { process.off('worker', note) })
  return { threads, kill: () => threads.at(-1)?.postMessage(null) }
}
