import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { sqlitePlantStore } from '../../src/stores/sqlite/sqlite-plant-store.js'
import { lost, overHttp, PlantClients, refusedAndStored } from '../support/http/plant-clients.js'
import { buildService, type Service } from '../support/http/service.js'
import { failingCalls, withCompiler, type FailingCalls } from '../support/process/failing-calls.js'
import { needsProgram } from '../support/process/needs.js'
import { Program, testFolder, token } from '../support/process/program.js'
import { mountSmallDisk, withSmallDisk } from '../support/process/small-disk.js'
import { execute, lockSqlite, plantsInFile } from '../support/stores/sqlite-file.js'

t.jobs = 4

const KILOBYTES_50 = 'x'.repeat(50_000)

interface Running { address: string, path: string, clients: PlantClients, program: Program }

/** Starts the service as a separate process. */
async function start (t: Test, folder: string, env: Record<string, string> = {}): Promise<Running> {
  const program = new Program([], { PORT: '0', ACCESS_TOKENS: token, DATA_DIR: folder, STORE_TIMEOUT: '1000', ...env })
  t.teardown(() => program.end('SIGKILL'))
  const address = await program.ready()
  return { address, path: join(folder, 'plants.db'), clients: new PlantClients(overHttp(address, token)), program }
}

async function ready (address: string): Promise<{ status: number, message: string }> {
  const response = await fetch(`${address}/health/ready`)
  return { status: response.status, message: (await response.json() as { message?: string }).message ?? '' }
}

/** Waits until /health/ready is 503 with this message. */
async function notReady (t: Test, address: string, message: RegExp): Promise<void> {
  let last = await ready(address)
  for (let turn = 0; turn < 400 && !message.test(last.message); turn++) {
    await sleep(50)
    last = await ready(address)
  }
  t.match(last, { status: 503, message })
}

/**
 * Checks that the service recovers: the same process stores plants again, every acknowledged plant is stored, and no
 * refused plant is.
 */
async function recovers (t: Test, { address, path, clients, program }: Running): Promise<void> {
  for (let turn = 0; turn < 400 && (await ready(address)).status !== 200; turn++) await sleep(50)
  t.equal((await ready(address)).status, 200, 'the service is ready again')
  t.equal((await clients.create()).status, 200, 'and plants are stored again')
  t.equal(program.child.exitCode, null, 'the process did not exit')
  const stored = plantsInFile(path)
  t.strictSame(lost(clients.sent, stored), [], `0 of ${clients.acknowledged.length} acknowledged plants are lost`)
  t.strictSame(refusedAndStored(clients.sent, stored), [], 'no refused plant is stored')
  t.strictSame(Object.keys(clients.counts).filter(status => !['200', '503', '504'].includes(status)), [], JSON.stringify(clients.counts))
  for (const { id, name, status } of clients.sent.filter(({ status }) => status !== 200).slice(0, 50)) {
    t.equal((await clients.create(id, name)).status, 200, `plant ${id}, which got ${status}, is stored when it is retried`)
  }
}

t.test('with a full disk, plants are refused immediately, and the service is not ready', withSmallDisk, async t => {
  const folder = testFolder(t)
  const resize = mountSmallDisk(t, folder, '3m')
  const service = await start(t, folder, { STORE_TIMEOUT: '10000' })
  const { address, clients } = service
  while (clients.sent.every(({ status }) => status === 200)) await clients.create(undefined, KILOBYTES_50)
  const { status, message } = await ready(address)
  t.equal(status, 503)
  t.match(message, /^Not ready: SQLite: .*full/)
  t.ok(clients.acknowledged.length > 10, `${clients.acknowledged.length} fit on the disk`)
  // Small plants may fit where large ones do not.
  await clients.load({ connections: 8, ms: 1_000, name: () => KILOBYTES_50 })
  const refused = clients.sent.filter(({ status }) => status !== 200)
  t.strictSame([...new Set(refused.map(({ status }) => status))], [503])
  t.ok(Math.max(...refused.map(({ took }) => took)) < 5_000, `immediately: ${refused.length} in ${Math.max(...refused.map(({ took }) => took))} ms at most`)
  resize('60m')
  await recovers(t, service)
})

t.test('with a disk that is full at startup, the service is not ready until there is room', withSmallDisk, async t => {
  const folder = testFolder(t)
  mountSmallDisk(t, folder, '256k')
  t.throws(() => writeFileSync(join(folder, 'filler'), Buffer.alloc(300_000)), { code: 'ENOSPC' })
  const service = await start(t, folder)
  t.equal((await ready(service.address)).status, 503, 'the service runs, but is not ready')
  t.match((await service.clients.create()).status, /^50[34]$/)
  rmSync(join(folder, 'filler'))
  await recovers(t, service)
})

t.test('while the files may not grow (EFBIG), the service is not ready, and it recovers', needsProgram('prlimit', 'util-linux'), async t => {
  const service = await start(t, testFolder(t))
  const { address, clients, program } = service
  const limit = (bytes: string) => execFileSync('prlimit', ['--pid', String(program.pid), `--fsize=${bytes}:unlimited`], { stdio: 'pipe' })
  limit('4000')
  await clients.load({ connections: 8, ms: 1_500 })
  t.not(clients.sent.at(-1)?.status, 200, JSON.stringify(clients.counts))
  t.equal((await ready(address)).status, 503)
  limit('unlimited')
  await recovers(t, service)
})

/** Starts the service with system calls that can be made to fail. */
async function startFaulty (t: Test): Promise<Running & FailingCalls> {
  const folder = testFolder(t)
  const calls = failingCalls(folder)
  return { ...await start(t, folder, calls.env), ...calls }
}

for (const kind of ['write', 'sync'] as const) {
  t.test(`while every ${kind} fails (EIO), the service is not ready, and it recovers`, withCompiler, async t => {
    const service = await startFaulty(t)
    const { address, clients, begin, end } = service
    await clients.load({ ms: 200 })
    t.ok(clients.sent.every(({ status }) => status === 200))
    const stop = clients.start(16)
    begin(kind)
    await notReady(t, address, /^Not ready: SQLite: .*I\/O/)
    end(kind)
    await stop()
    await recovers(t, service)
  })
}

t.test('while the database thread has crashed and no other can be started (EAGAIN), the service is not ready, and it recovers', withCompiler, async t => {
  const service = await startFaulty(t)
  const { address, clients, begin, end } = service
  await clients.load({ ms: 200 })
  const stop = clients.start(16)
  begin('thread')
  begin('write')
  await notReady(t, address, /^Not ready: SQLite: no thread for the database could be started/)
  end('write')
  end('thread')
  await stop()
  await recovers(t, service)
})

/** The service in this process, on a database in the test's own folder. */
async function inProcess (t: Test, STORE_TIMEOUT: number): Promise<Service & { path: string }> {
  const path = join(t.testdir(), 'plants.db')
  return { ...await buildService(t, sqlitePlantStore({ path }), { STORE_TIMEOUT }), path }
}

t.test('while another program holds the lock for longer than STORE_TIMEOUT, nothing is stored, and each response says so', async t => {
  const STORE_TIMEOUT = 1_500
  const { create, path } = await inProcess(t, STORE_TIMEOUT)
  const other = lockSqlite(path)
  const ids = Array.from({ length: 40 }, (_, i) => i + 1)
  // The deadlines fall at different points of an attempt.
  const answers = await Promise.all(ids.map(async id => {
    await sleep(50 * id)
    const began = performance.now()
    const { statusCode } = await create({ id, name: `plant ${id}` })
    return { statusCode, inTime: performance.now() - began < STORE_TIMEOUT + 2_000 }
  }))
  t.strictSame(answers, ids.map(() => ({ statusCode: 503, inTime: true })))
  other.exec('ROLLBACK')
  other.close()
  t.equal(plantsInFile(path).size, 0)
  for (const id of ids.slice(0, 3)) t.equal((await create({ id, name: `plant ${id}` })).statusCode, 200)
})

t.test('the plants of a damaged page are refused, all others are stored, and the page is not overwritten', async t => {
  const folder = testFolder(t)
  const path = join(folder, 'plants.db')
  const first = await start(t, folder)
  await first.clients.load({ ms: 300 })
  first.program.child.kill('SIGTERM')
  await first.program.ended
  execute(path, "WITH RECURSIVE n(id) AS (SELECT 100000 UNION ALL SELECT id + 1 FROM n LIMIT 20000) INSERT INTO plants SELECT id, 'from another program', NULL FROM n; PRAGMA wal_checkpoint(TRUNCATE)")

  const PAGE = 4_096
  const garbage = Buffer.alloc(PAGE, 0xa5)
  const pages = readFileSync(path).length / PAGE
  const damaged = Math.floor(pages / 2)
  const file = openSync(path, 'r+')
  writeSync(file, garbage, 0, PAGE, damaged * PAGE)
  closeSync(file)

  const { address, clients, program } = await start(t, folder, { STORE_TIMEOUT: '2000' })
  const statuses = []
  // The ids in the middle belong to that page.
  for (let id = 100_000; id < 120_000; id += 90) statuses.push((await clients.create(id, 'from another program')).status)
  t.ok(statuses.includes(200), 'plants on other pages are found')
  t.ok(statuses.some(status => status !== 200), 'plants on the damaged page are refused')
  t.strictSame(statuses.filter(status => ![200, 503, 504].includes(status)), [])

  const bad = clients.sent.find(({ status }) => status !== 200)?.id
  const [others, retrying] = [
    new PlantClients(overHttp(address, token), 1_000_000),
    new PlantClients(overHttp(address, token))
  ]
  const load = new AbortController()
  const retries = Promise.all([1, 2].map(async () => { while (!load.signal.aborted) await retrying.create(bad, 'from another program') }))
  await others.load({ connections: 8, ms: 3_000 })
  load.abort()
  await retries
  t.strictSame(Object.keys(others.counts), ['200'], `while two clients retry a plant on the damaged page, ${others.sent.length} others are stored`)
  t.strictSame(Object.keys(retrying.counts), ['503'])
  await others.create()
  t.equal((await ready(address)).status, 200)
  t.equal(program.child.exitCode, null)
  program.child.kill('SIGTERM')
  t.match(await program.ended, { code: 0 })
  t.ok(readFileSync(path).subarray(damaged * PAGE, (damaged + 1) * PAGE).equals(garbage), 'the damaged page is unchanged')
})

for (const what of ['deleted', 'replaced by a backup']) {
  t.test(`after a database file is ${what} under load, no plant is acknowledged until a restart`, async t => {
    const folder = testFolder(t)
    const { address, clients, path, program } = await start(t, folder)
    await clients.load({ ms: 300 })
    execute(path, `VACUUM INTO '${path}.backup'`)
    const inBackup = [...clients.acknowledged]
    const stop = clients.start(16)
    await sleep(500)
    if (what === 'deleted') rmSync(path)
    else renameSync(`${path}.backup`, path)
    // Responses to earlier requests may be on their way.
    await sleep(300)
    const before = clients.sent.length
    await notReady(t, address, /was deleted, moved or replaced while it was open: .* restart$/)
    await sleep(500)
    await stop()
    t.strictSame([...new Set(clients.sent.slice(before).map(({ status }) => status))], [503])
    t.equal(existsSync(path), what !== 'deleted')
    t.match(await program.end('SIGTERM'), { code: 0 })

    const restarted = await start(t, folder)
    t.equal((await restarted.clients.create(1_000_000)).status, 200)
    const stored = plantsInFile(path)
    if (what !== 'deleted') t.strictSame(lost(inBackup, stored), [])
  })
}
