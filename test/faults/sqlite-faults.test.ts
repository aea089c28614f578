import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, copyFileSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { sqlitePlantStore } from '../../src/stores/sqlite-plant-store.js'
import { failingCalls, withCompiler, type FailingCalls } from '../failing-calls.js'
import { program } from '../project.js'
import { Program, testFolder, token } from '../program.js'
import { buildService, type Service } from '../service.js'
import { openSqlite, plantsInFile } from '../sqlite-file.js'
import { Clients, lost, refusedAndStored } from './creating.js'

t.jobs = 4

const KILOBYTES_50 = 'x'.repeat(50_000)

interface Running { address: string, path: string, clients: Clients, program: Program }

/** The service as a process of its own. */
async function start (t: Test, folder: string, env: Record<string, string> = {}): Promise<Running> {
  const program = new Program([], { PORT: '0', ACCESS_TOKENS: token, DATA_DIR: folder, STORE_TIMEOUT: '1000', ...env })
  const clients = new Clients(token)
  t.teardown(async () => {
    clients.close()
    await program.end('SIGKILL')
  })
  return { address: await program.ready(), path: join(folder, 'plants.db'), clients, program }
}

async function ready (address: string): Promise<{ status: number, message: string }> {
  const response = await fetch(`${address}/health/ready`)
  return { status: response.status, message: (await response.json() as { message?: string }).message ?? '' }
}

/** What holds after any fault: the process lives and takes plants, what it acknowledged is there, what it refused is not. */
async function recovers (t: Test, { address, path, clients, program }: Running): Promise<void> {
  for (let turn = 0; turn < 100 && (await ready(address)).status !== 200; turn++) await sleep(50)
  t.equal((await ready(address)).status, 200, 'ready again')
  t.equal((await clients.create(address)).status, 200, 'and plants are stored again')
  t.equal(program.child.exitCode, null, 'the process is the same')
  const stored = plantsInFile(path)
  t.strictSame(lost(clients.told, stored), [], `0 of ${clients.acknowledged.length} acknowledged plants are lost`)
  t.strictSame(refusedAndStored(clients.told, stored), [], 'what was refused is not stored')
  t.strictSame(Object.keys(clients.counts).filter(status => !['200', '503', '504'].includes(status)), [], JSON.stringify(clients.counts))
  for (const { id, name, status } of clients.told.filter(({ status }) => status !== 200).slice(0, 50)) {
    t.equal((await clients.create(address, id, name)).status, 200, `plant ${id}, which was told ${status}, is stored when it is sent again`)
  }
}

function mount (t: Test, folder: string, size: string): string | undefined {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'pipe' })
  } catch (error) {
    return `no small file system can be mounted here: ${(error as Error).message.trim().split('\n').at(-1)}`
  }
  t.teardown(() => { execFileSync('umount', ['-l', folder]) })
  return undefined
}

t.test('a full disk', async t => {
  const folder = testFolder(t)
  const missing = mount(t, folder, '3m')
  if (missing !== undefined) return t.comment(`skipped: ${missing}`)
  const service = await start(t, folder)
  const { address, clients } = service
  await clients.load(address, { connections: 8, ms: 500, name: () => KILOBYTES_50 })
  for (let turn = 0; turn < 200 && clients.told.every(({ status }) => status === 200); turn++) await clients.create(address, undefined, KILOBYTES_50)
  // Small plants find room where large ones do not.
  await clients.load(address, { connections: 8, ms: 1_000, name: () => KILOBYTES_50 })
  await clients.load(address, { connections: 8, ms: 2_500 })
  t.ok(clients.acknowledged.length > 10, `${clients.acknowledged.length} found room`)
  t.ok(clients.told.slice(-8).every(({ status }) => status === 503 || status === 504), 'no room is told')
  const { status, message } = await ready(address)
  t.equal(status, 503)
  t.match(message, /^Not ready: SQLite: .*full/)
  execFileSync('mount', ['-o', 'remount,size=60m', folder])
  await recovers(t, service)
})

t.test('a disk that is full at the start', async t => {
  const folder = testFolder(t)
  const missing = mount(t, folder, '256k')
  if (missing !== undefined) return t.comment(`skipped: ${missing}`)
  try {
    writeFileSync(join(folder, 'filler'), Buffer.alloc(300_000))
  } catch {}
  const service = await start(t, folder)
  t.equal((await ready(service.address)).status, 503, 'it is up, and not ready')
  t.match((await service.clients.create(service.address)).status, /^50[34]$/)
  rmSync(join(folder, 'filler'))
  await recovers(t, service)
})

t.test('files may not grow any more (EFBIG)', async t => {
  const service = await start(t, testFolder(t))
  const { address, clients, program } = service
  const limit = (bytes: string) => {
    try {
      execFileSync('prlimit', ['--pid', String(program.pid), `--fsize=${bytes}:unlimited`], { stdio: 'pipe' })
      return true
    } catch {
      return false
    }
  }
  if (!limit('4000')) return t.comment('skipped: there is no prlimit here')
  await clients.load(address, { connections: 8, ms: 1_500 })
  t.not(clients.told.at(-1)?.status, 200, JSON.stringify(clients.counts))
  t.equal((await ready(address)).status, 503)
  limit('unlimited')
  await recovers(t, service)
})

/** The service with faults of its system calls. */
async function startFaulty (t: Test): Promise<Running & FailingCalls> {
  const folder = testFolder(t)
  const calls = failingCalls(folder)
  return { ...await start(t, folder, calls.env), ...calls }
}

for (const kind of ['write', 'sync'] as const) {
  t.test(`every ${kind} fails (EIO)`, withCompiler, async t => {
    const service = await startFaulty(t)
    const { address, clients, begin, end } = service
    await clients.load(address, { ms: 200 })
    t.ok(clients.told.every(({ status }) => status === 200))
    const before = clients.told.length
    const load = clients.load(address, { ms: 2_500 })
    await sleep(300)
    begin(kind)
    await sleep(1_000)
    const { status, message } = await ready(address)
    t.equal(status, 503)
    t.match(message, /^Not ready: SQLite: .*I\/O/)
    end(kind)
    await load
    t.ok(clients.told.length > before)
    await recovers(t, service)
  })
}

t.test('the database thread has ended by a fault, and no other can be started (EAGAIN)', withCompiler, async t => {
  const service = await startFaulty(t)
  const { address, clients, begin, end } = service
  await clients.load(address, { ms: 200 })
  const load = clients.load(address, { ms: 2_500 })
  await sleep(300)
  begin('thread')
  begin('write')
  await sleep(500)
  end('write')
  await sleep(500)
  const { status, message } = await ready(address)
  t.equal(status, 503)
  t.match(message, /^Not ready: SQLite: no thread for the database could be started/)
  end('thread')
  await load
  await recovers(t, service)
})

/** The service in this process, on a database in a folder of the test's own. */
async function inProcess (t: Test, STORE_TIMEOUT: number): Promise<Service & { path: string }> {
  const path = join(t.testdir(), 'plants.db')
  return { ...await buildService(t, sqlitePlantStore({ path }), { STORE_TIMEOUT }), path }
}

t.test('another program holds the lock for a shorter time than a create waits', async t => {
  const { create, path, app } = await inProcess(t, 3_000)
  const other = openSqlite(path)
  other.exec('BEGIN IMMEDIATE')
  const answers = Promise.all([1, 2, 3].map(async id => await create({ id, name: `plant ${id}` })))
  await sleep(700)
  t.equal((await app.inject('/health/ready')).statusCode, 503, 'meanwhile it is not ready')
  other.exec('INSERT INTO plants VALUES (2, \'plant 2\', NULL), (3, \'other\', NULL); COMMIT')
  t.strictSame((await answers).map(({ statusCode }) => statusCode), [200, 200, 400])
  t.equal((await app.inject('/health/ready')).statusCode, 200)
  other.close()
})

t.test('another program holds the lock for a longer time than a create waits', async t => {
  const { create, path } = await inProcess(t, 700)
  const other = openSqlite(path)
  other.exec('BEGIN IMMEDIATE')
  const began = performance.now()
  const answers = await Promise.all([1, 2, 3].map(async id => await create({ id, name: `plant ${id}` })))
  t.ok(performance.now() - began < 1_000, 'each is told in time')
  // The last try may be under way at the deadline, which leaves it open.
  t.ok(answers.every(({ statusCode }) => statusCode === 503 || statusCode === 504), answers.map(({ statusCode }) => statusCode).join())
  other.exec('ROLLBACK')
  await sleep(300)
  const stored = plantsInFile(path)
  t.strictSame(answers.map(({ statusCode }, i) => statusCode === 503 && stored.has(BigInt(i + 1))), [false, false, false])
  for (const id of [1, 2, 3]) t.equal((await create({ id, name: `plant ${id}` })).statusCode, 200)
  other.close()
})

t.test('another program holds the lock at the start', async t => {
  const folder = testFolder(t)
  const other = openSqlite(join(folder, 'plants.db'))
  other.exec('BEGIN EXCLUSIVE; CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)')
  const service = await start(t, folder)
  t.equal((await ready(service.address)).status, 503, 'it is up, and not ready')
  other.exec('COMMIT')
  other.close()
  await recovers(t, service)
})

t.test('the worker thread dies, again and again, in the midst of batches', async t => {
  const workers: Worker[] = []
  const keep = (worker: Worker) => { workers.push(worker) }
  process.on('worker', keep)
  t.teardown(() => process.off('worker', keep))
  const { create, path } = await inProcess(t, 20_000)
  const acknowledged = new Set<number>()
  const statuses = new Map<number, number>()
  let last = 0
  let killed = 0
  const over = () => killed === 4
  const clients = Array.from({ length: 16 }, async () => {
    while (!over()) {
      const id = ++last
      const { statusCode } = await create({ id, name: `plant ${id}` })
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
      if (statusCode === 200) acknowledged.add(id)
    }
  })
  const began = performance.now()
  while (!over() && performance.now() - began < 30_000) {
    const { size } = acknowledged
    while (acknowledged.size === size) await sleep(5)
    // In a transaction, in a commit, or between two of them.
    await sleep(Math.random() * 30)
    await workers.at(-1)?.terminate()
    killed++
  }
  await Promise.all(clients)
  t.strictSame([...statuses.keys()], [200], `${killed} threads killed, and no client has seen it: ${[...statuses].join(' ')}`)
  const stored = plantsInFile(path)
  t.strictSame([...acknowledged].filter(id => stored.get(BigInt(id))?.name !== `plant ${id}`), [])
})

t.test('a damaged page: what is on it is refused, all else works, and not a byte of it is written over', async t => {
  const folder = testFolder(t)
  const path = join(folder, 'plants.db')
  const first = await start(t, folder)
  await first.clients.load(first.address, { ms: 300 })
  first.program.child.kill('SIGTERM')
  await first.program.ended
  const other = openSqlite(path)
  other.exec('WITH RECURSIVE n(id) AS (SELECT 100000 UNION ALL SELECT id + 1 FROM n LIMIT 20000) INSERT INTO plants SELECT id, \'from another program\', NULL FROM n; PRAGMA wal_checkpoint(TRUNCATE)')
  other.close()

  const PAGE = 4_096
  const garbage = Buffer.alloc(PAGE, 0xa5)
  const pages = readFileSync(path).length / PAGE
  const damaged = Math.floor(pages / 2)
  const file = openSync(path, 'r+')
  writeSync(file, garbage, 0, PAGE, damaged * PAGE)
  closeSync(file)

  const { address, clients, program } = await start(t, folder, { STORE_TIMEOUT: '500' })
  const statuses = []
  // The ids in the middle are on that page.
  for (let id = 100_000; id < 120_000; id += 90) statuses.push((await clients.create(address, id, 'from another program')).status)
  t.ok(statuses.includes(200), 'what lies on other pages is found')
  t.ok(statuses.some(status => status !== 200), 'what would be on the damaged one is refused')
  t.strictSame(statuses.filter(status => ![200, 503, 504].includes(status)), [])
  t.equal((await clients.create(address, 1_000_000)).status, 200)
  t.equal(program.child.exitCode, null)
  program.child.kill('SIGTERM')
  t.match(await program.ended, { code: 0 })
  t.ok(readFileSync(path).subarray(damaged * PAGE, (damaged + 1) * PAGE).equals(garbage), 'the damaged page is as it was')
})

const unusable: { name: string, make: (path: string) => void, told: RegExp }[] = [
  {
    name: 'a file with a damaged header',
    make: path => {
      ours(path)
      const bytes = readFileSync(path)
      bytes.fill(0, 0, 16)
      writeFileSync(path, bytes)
    },
    told: /is damaged/
  },
  { name: 'a file of ours that was cut off', make: path => { ours(path); writeFileSync(path, readFileSync(path).subarray(0, 5_000)) }, told: /is damaged/ },
  { name: 'a file that is no database', make: path => writeFileSync(path, 'Dear diary, '.repeat(1_000)), told: /is damaged, or is no SQLite database/ },
  { name: 'a database of another program', make: path => sql(path, 'CREATE TABLE songs(title TEXT)'), told: /another program/ },
  { name: 'a database of a newer version', make: path => sql(path, 'PRAGMA user_version = 2'), told: /newer/ },
  { name: 'a folder in the place of the file', make: path => { mkdirSync(path) }, told: /cannot be written/ }
]

function sql (path: string, commands: string): void {
  const database = openSqlite(path)
  database.exec(commands)
  database.close()
}

function ours (path: string): void {
  sql(path, `CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT); PRAGMA user_version = 1;
    WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT 5000) INSERT INTO plants SELECT id, 'Ficus', NULL FROM n`)
}

for (const { name, make, told } of unusable) {
  t.test(`${name} ends the start, in one line, and stays as it is`, async t => {
    const folder = testFolder(t)
    const path = join(folder, 'plants.db')
    make(path)
    const isFile = name !== 'a folder in the place of the file'
    if (isFile) copyFileSync(path, `${path}.before`)
    const program = new Program([], { PORT: '0', ACCESS_TOKENS: token, DATA_DIR: folder })
    const { code } = await program.ended
    const { stderr, stdout } = program
    t.equal(code, 1)
    t.match(stderr, /^plant-store: [^\n]+\n$/, stderr)
    t.match(stderr, told)
    t.notMatch(stdout, /ready at/)
    if (isFile) t.ok(readFileSync(path).equals(readFileSync(`${path}.before`)), 'not a byte is changed')
  })
}

t.test('a folder that this user may not write ends the start, in one line', async t => {
  const folder = testFolder(t)
  chmodSync(folder, 0o555)
  const root = process.getuid?.() === 0
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: folder, ACCESS_TOKENS: token }, stdio: ['ignore', 'ignore', 'pipe'], ...(root && { uid: 65_534, gid: 65_534 })
  })
  let stderr = ''
  child.stderr.on('data', text => { stderr += text })
  const [code] = await once(child, 'close')
  chmodSync(folder, 0o755)
  t.equal(code, 1)
  t.match(stderr, /^plant-store: SQLite: [^\n]+ cannot be written [^\n]+\n$/, stderr)
})
