import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { closedPort } from '../process/lasting-port.js'
import { kill, mongodOnPath } from './replica-set.js'

/** The MongoDB of a test file, or the reason why there is none. */
export type MongodbForTests = { url: string, missing?: never } | { url?: never, missing: string }

const START_TIMEOUT_MS = 20_000

let found: Promise<MongodbForTests> | undefined

/**
 * The MongoDB for the tests of this file: the one at MONGODB_URL, otherwise a `mongod` on the PATH, which is started on
 * a free port with an empty folder, and stopped when the file completes.
 */
export function mongodb (): Promise<MongodbForTests> {
  found ??= findMongodb()
  return found
}

async function findMongodb (): Promise<MongodbForTests> {
  const { MONGODB_URL: url } = process.env
  if (url !== undefined && url !== '') return { url }
  const program = mongodOnPath()
  if (program !== undefined) return { url: await start(program) }
  return { missing: 'MongoDB is missing: set MONGODB_URL, or put mongod on the PATH' }
}

async function start (program: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-mongod-'))
  const port = await closedPort()
  const server = spawn(program, ['--dbpath', folder, '--port', String(port), '--bind_ip', '127.0.0.1'], { stdio: 'ignore' })
  t.teardown(async () => {
    await kill(server)
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `mongodb://127.0.0.1:${port}/`
  const client = new MongoClient(url, { serverSelectionTimeoutMS: START_TIMEOUT_MS })
  await client.db('admin').command({ ping: 1 }).finally(() => client.close())
  return url
}
