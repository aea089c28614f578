import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { closedPort } from '../process/lasting-port.js'
import { kill, mongodOnPath } from './replica-set.js'

/** The MongoDB of a test file, or the reason why there is none. */
export type MongodbForTests = { url: string, missing?: never } | { url?: never, missing: string }

const DOWNLOAD_TIMEOUT_MS = 20_000
const START_TIMEOUT_MS = 20_000
const LONGEST_RUN_MS = 600_000

let found: Promise<MongodbForTests> | undefined

/**
 * The MongoDB for the tests of this file, the first of these that is available: the one at MONGODB_URL; a `mongod` on
 * the PATH; one that `mongodb-memory-server-core` downloads, unless CI or NO_MONGODB_DOWNLOAD is set. The last two are
 * started on a free port with an empty folder, and stopped when the file completes.
 */
export function mongodb (): Promise<MongodbForTests> {
  found ??= findMongodb()
  return found
}

async function findMongodb (): Promise<MongodbForTests> {
  const { MONGODB_URL: url } = process.env
  if (url !== undefined && url !== '') return { url }
  const program = mongodOnPath() ?? await downloadedOnce()
  if (program !== undefined) return { url: await start(program) }
  return { missing: 'MongoDB is missing: set MONGODB_URL, or put mongod on the PATH' }
}

/**
 * The path of a downloaded `mongod`. All test files of a tap run share one attempt, as it takes seconds without a
 * network: the first one writes its outcome to a file named after the parent process, which is tap.
 */
async function downloadedOnce (): Promise<string | undefined> {
  if (process.env.NO_MONGODB_DOWNLOAD === '1' || (process.env.CI ?? '') !== '') return undefined
  const outcome = join(tmpdir(), `plant-store-mongodb-${process.ppid}`)
  // The file may be left from an earlier run with the same process id.
  if (Date.now() - (statSync(outcome, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > LONGEST_RUN_MS) {
    rmSync(outcome, { force: true })
  }
  try {
    writeFileSync(outcome, '', { flag: 'wx' })
  } catch {
    return awaitOutcome(outcome)
  }
  const path = await download()
  writeFileSync(outcome, `${path ?? 'none'}\n`)
  return path
}

async function awaitOutcome (outcome: string): Promise<string | undefined> {
  for (let waited = 0; waited <= DOWNLOAD_TIMEOUT_MS; waited += 100) {
    const text = readFileSync(outcome, 'utf8').trim()
    if (text !== '') return text === 'none' ? undefined : text
    await sleep(100)
  }
  return undefined
}

/** Downloads in a separate process, which can be killed and whose standard error can be ignored. */
async function download (): Promise<string | undefined> {
  const script = `
    const { MongoBinary } = await import('mongodb-memory-server-core')
    process.stdout.write(await MongoBinary.getPath({ downloadDir: process.argv[1] }))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, join(tmpdir(), 'plant-store-mongod')], {
    stdio: ['ignore', 'pipe', 'ignore'], timeout: DOWNLOAD_TIMEOUT_MS, killSignal: 'SIGKILL', env: { ...process.env, NODE_OPTIONS: '' }
  })
  let path = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { path += text })
  const [code] = await once(child, 'close')
  return code === 0 && path !== '' ? path : undefined
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
