import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { lost, overHttp, PlantClients, refusedAndStored } from '../support/http/plant-clients.js'
import { failingCalls, withCompiler, type FailingCall } from '../support/process/failing-calls.js'
import { needsProgram } from '../support/process/needs.js'
import { Program, testFolder, token } from '../support/process/program.js'
import { mountSmallDisk, withSmallDisk } from '../support/process/small-disk.js'
import { execute, plantsInFile } from '../support/stores/sqlite-file.js'

t.jobs = 4

const KILOBYTES_50 = 'x'.repeat(50_000)

interface Running { address: string, path: string, clients: PlantClients, program: Program }

/** Starts the service as a separate process, which need not be ready. */
async function start (t: Test, folder: string, env: Record<string, string> = {}): Promise<Running> {
  const program = new Program([], { PORT: '0', ACCESS_TOKENS: token, DATA_DIR: folder, STORE_TIMEOUT: '1000', ...env })
  t.teardown(() => program.end('SIGKILL'))
  const address = String((await program.logged('listening at')).address)
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
  const others = Object.keys(clients.counts).filter(status => !['200', '503', '504'].includes(status))
  t.strictSame(others, [], JSON.stringify(clients.counts))
  for (const { id, name, status } of clients.sent.filter(({ status }) => status !== 200).slice(0, 50)) {
    t.equal(
      (await clients.create(id, name)).status, 200, `plant ${id}, which got ${status}, is stored when it is retried`
    )
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
  const longest = Math.max(...refused.map(({ took }) => took))
  t.ok(longest < 5_000, `immediately: ${refused.length} in ${longest} ms at most`)
  resize('60m')
  await recovers(t, service)
})

t.test('with a disk that is full at startup, the service is not ready until there is room', withSmallDisk, async t => {
  const folder = testFolder(t)
  mountSmallDisk(t, folder, '256k')
  t.throws(() => writeFileSync(join(folder, 'filler'), Buffer.alloc(300_000)), { code: 'ENOSPC' })
  const service = await start(t, folder)
  t.equal((await ready(service.address)).status, 503, 'the service runs, but is not ready')
  t.match(await service.program.logged('not ready: SQLite'), { level: 40 })
  t.match((await service.clients.create()).status, /^50[34]$/)
  rmSync(join(folder, 'filler'))
  await recovers(t, service)
})

const withLimits = needsProgram('prlimit', 'util-linux')

t.test('while files may not grow (EFBIG), the service is not ready, and it recovers', withLimits, async t => {
  const service = await start(t, testFolder(t))
  const { address, clients, program } = service
  const limit = (bytes: string) => {
    execFileSync('prlimit', ['--pid', String(program.pid), `--fsize=${bytes}:unlimited`], { stdio: 'pipe' })
  }
  limit('4000')
  await clients.load({ connections: 8, ms: 1_500 })
  t.not(clients.sent.at(-1)?.status, 200, JSON.stringify(clients.counts))
  t.equal((await ready(address)).status, 503)
  limit('unlimited')
  await recovers(t, service)
})

const failures: { what: string, calls: FailingCall[], message: RegExp }[] = [
  { what: 'every write fails (EIO)', calls: ['write'], message: /^Not ready: SQLite: .*I\/O/ },
  { what: 'every sync fails (EIO)', calls: ['sync'], message: /^Not ready: SQLite: .*I\/O/ },
  {
    what: 'the database thread has crashed and no other can be started (EAGAIN)',
    calls: ['thread', 'write'],
    message: /^Not ready: SQLite: no thread for the database could be started/
  }
]

for (const { what, calls, message } of failures) {
  t.test(`while ${what}, the service is not ready, and it recovers`, withCompiler, async t => {
    const folder = testFolder(t)
    const { env, begin, end } = failingCalls(folder)
    const service = await start(t, folder, env)
    const { address, clients } = service
    await clients.load({ ms: 200 })
    t.ok(clients.sent.every(({ status }) => status === 200))
    const stop = clients.start(16)
    for (const call of calls) begin(call)
    await notReady(t, address, message)
    for (const call of calls.toReversed()) end(call)
    await stop()
    await recovers(t, service)
  })
}

t.test('the plants of a damaged page are refused, all others are stored, and the page is not overwritten', async t => {
  const folder = testFolder(t)
  const path = join(folder, 'plants.db')
  await (await start(t, folder)).program.end('SIGTERM')
  execute(path, `WITH RECURSIVE n(id) AS (SELECT 100000 UNION ALL SELECT id + 1 FROM n LIMIT 20000)
    INSERT INTO plants SELECT id, 'from another program', NULL FROM n; PRAGMA wal_checkpoint(TRUNCATE)`)

  const file = readFileSync(path)
  const PAGE = 4_096
  const from = Math.floor(file.length / PAGE / 2) * PAGE
  const damaged = file.fill(0xa5, from, from + PAGE).subarray(from, from + PAGE)
  writeFileSync(path, file)

  const { address, clients, program } = await start(t, folder, { STORE_TIMEOUT: '2000' })
  // The ids in the middle belong to that page.
  for (let id = 100_000; id < 120_000; id += 90) await clients.create(id, 'from another program')
  t.ok(clients.acknowledged.length > 0, 'plants on other pages are found')
  const bad = clients.sent.find(({ status }) => status !== 200)?.id
  t.type(bad, 'number', 'plants on the damaged page are refused')
  t.strictSame(Object.keys(clients.counts).filter(status => !['200', '503', '504'].includes(status)), [])

  const others = new PlantClients(overHttp(address, token), 1_000_000)
  const stop = others.start(8)
  for (let retry = 0; retry < 5; retry++) t.equal((await clients.create(bad, 'from another program')).status, 503)
  await stop()
  t.strictSame(
    Object.keys(others.counts),
    ['200'],
    `while a plant on the damaged page is retried, ${others.sent.length} others are stored`
  )
  t.equal((await ready(address)).status, 200)
  t.match(await program.end('SIGTERM'), { code: 0 })
  t.ok(readFileSync(path).subarray(from, from + PAGE).equals(damaged), 'the damaged page is unchanged')
})
