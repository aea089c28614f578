import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { closedPort } from '../process/lasting-port.js'
import { kill, programOnPath } from './replica-set.js'

/** The MongoDB of a test file, or the reason why there is none. */
export type MongodbForTests = { url: string, missing?: never } | { url?: never, missing: string }

const START_TIMEOUT_MS = 20_000

let found: Promise<MongodbForTests> | undefined

/**
 * The MongoDB for the tests of this file: the one at MONGODB_URL, otherwise a `mongod` or SecantusDB on the PATH, which
 * is started on a free port with an empty folder, and stopped when the file completes.
 */
export function mongodb (): Promise<MongodbForTests> {
  found ??= findMongodb()
  return found
}

async function findMongodb (): Promise<MongodbForTests> {
  const { MONGODB_URL: url } = process.env
  if (url !== undefined && url !== '') return { url }
  if (missingServer !== undefined) return { missing: `${missingServer}, or set MONGODB_URL` }
  return { url: `mongodb://${(await startServer(t)).host}/` }
}

const mongod = programOnPath('mongod')
const program = mongod ?? programOnPath('secantusd-py')

/** Why a test cannot start a server of its own. */
export const missingServer = program === undefined
  ? 'MongoDB is missing: put mongod or secantusd-py on the PATH'
  : undefined

/** A server of the test's own, with fail points. `requireUsers` restarts it: then it wants the users that it has. */
export async function startServer (t: Pick<Test, 'teardown'>) {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-mongodb-'))
  const port = String(await closedPort())
  const host = `127.0.0.1:${port}`
  let server: ChildProcess
  const start = async (...more: string[]): Promise<void> => {
    const options = mongod === undefined
      ? ['--storage-path', join(folder, 'data'), '--host', '127.0.0.1', '--enable-test-commands', '--sync-on-commit']
      : ['--dbpath', folder, '--bind_ip', '127.0.0.1', '--setParameter', 'enableTestCommands=1']
    server = spawn(program as string, ['--port', port, ...options, ...more], { stdio: 'ignore' })
    const client = new MongoClient(`mongodb://${host}/`, { serverSelectionTimeoutMS: START_TIMEOUT_MS })
    await client.db('admin').command({ ping: 1 }).finally(() => client.close())
  }
  t.teardown(async () => {
    await kill(server)
    rmSync(folder, { recursive: true, force: true })
  })
  await start()
  return {
    host,
    async requireUsers () {
      await kill(server)
      await start('--auth')
    }
  }
}
