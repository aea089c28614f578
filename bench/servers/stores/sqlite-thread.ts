import { parentPort, workerData } from 'node:worker_threads'
import type { Plant } from './peer-store.js'
import { openSqliteFile } from './sqlite.js'

/** Stores the plants of each message in one transaction, and replies with whether each of them was new. */
const database = await openSqliteFile(String(workerData))
const begin = database.prepare('BEGIN IMMEDIATE')
const insert = database.prepare('INSERT INTO plants(id, name, tag) VALUES(?, ?, ?) ON CONFLICT(id) DO NOTHING')
const commit = database.prepare('COMMIT')

parentPort?.on('message', (plants: Plant[]) => {
  begin.run()
  const stored = plants.map(({ id, name, tag }) => insert.run(id, name, tag ?? null).changes === 1)
  commit.run()
  parentPort?.postMessage(stored)
})
