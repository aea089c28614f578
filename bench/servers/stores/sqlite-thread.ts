import { parentPort, workerData } from 'node:worker_threads'
import type { Plant } from './group-commit.js'
import { openSqlite } from './sqlite.js'

/** Stores the plants of each message in one transaction, and replies with whether each of them was new. */
const { database, insert } = await openSqlite(String(workerData))
const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')]

parentPort?.on('message', (plants: Plant[]) => {
  begin.run()
  const stored = plants.map(insert)
  commit.run()
  parentPort?.postMessage(stored)
})
