import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable } from '../../../src/plant-store.js'
import { bare, compiledPackage } from '../../support/process/program.js'
import { lockSqlite, openSqlite, plantsInFile, storeAt, threadsOf } from '../../support/stores/sqlite-file.js'

const soon = (ms = 10_000) => performance.now() + ms
const FICUS = { id: 1n, name: 'Ficus' }

t.test('while another program writes, a request stays pending until its deadline, and is then not stored', async t => {
  const path = join(t.testdir(), 'plants.db')
  const store = storeAt(t, path)
  const { threads } = threadsOf(t)
  await store.open()
  const other = lockSqlite(path)
  const error = await store.create(FICUS, soon(1_500)).catch((error: unknown) => error) as Error
  t.type(error, PlantNotStored)
  t.match(error.message, /^SQLite: .*locked/)
  await t.rejects(store.ready(), { message: /^SQLite: .*locked/ })
  const pending = store.create(FICUS, soon())
  setTimeout(() => { other.exec('ROLLBACK') }, 300)
  t.equal(await pending, 'stored')
  await t.resolves(store.ready())
  t.equal(threads.length, 1, 'the file stays open')
  other.close()
})

t.test('a store opens while another program has the file locked, and requests wait for the lock', async t => {
  const path = join(t.testdir(), 'plants.db')
  const other = openSqlite(path)
  other.exec('BEGIN EXCLUSIVE')
  const store = storeAt(t, path)
  t.equal(await store.open(), true)
  const create = store.create(FICUS, soon(20_000))
  const began = performance.now()
  await t.rejects(store.ready(), { message: /^SQLite: .*locked/ })
  t.ok(performance.now() - began < 10_000, 'they do not delay a check until their deadline')
  other.exec('ROLLBACK')
  other.close()
  t.equal(await create, 'stored')
  await t.resolves(store.ready())
})

t.test('while the folder is a link to a volume that is not mounted, nothing is stored', async t => {
  const folder = t.testdir()
  const [volume, data] = [join(folder, 'volume'), join(folder, 'data')]
  symlinkSync(volume, data)
  const store = storeAt(t, join(data, 'plants.db'))
  t.equal(await store.open(), true)
  await t.rejects(store.create(FICUS, soon(1_000)), { name: PlantNotStored.name, message: /ENOENT/ })
  mkdirSync(volume)
  t.equal(await store.create(FICUS, soon()), 'stored')
})

t.test('closing a store ends its thread without an error, even just after the start, and leaves no listeners on the process', async t => {
  const listeners = process.listenerCount('exit')
  const store = storeAt(t, join(t.testdir(), 'one.db'))
  const { threads } = threadsOf(t)
  await store.open()
  t.equal(process.listenerCount('exit'), listeners + 1)
  const exit = once(threads[0] as Worker, 'exit')
  await store.close()
  t.strictSame(await exit, [0])
  t.equal(process.listenerCount('exit'), listeners)
})

t.test('the store recovers if its thread dies', async t => {
  const path = join(t.testdir(), 'plants.db')
  const store = storeAt(t, path)
  const { threads, kill } = threadsOf(t)
  await store.open()
  kill()
  t.equal(await store.create(FICUS, soon()), 'stored', 'the thread dies before the request, or during it')
  t.equal(threads.length, 2)

  const inFlight = store.create({ id: 2n, name: 'Fern' }, soon())
  await new Promise(resolve => setImmediate(resolve))
  kill()
  t.match(await inFlight, /^(stored|same)$/, 'the thread dies after the request: its answer counts, or the next attempt settles it')

  t.equal(await store.create(FICUS, soon()), 'same')
  kill()
  const closing = store.create({ id: 3n, name: 'Moss' }, soon()).catch((error: unknown) => error)
  await Promise.all([store.close(), sleep(1)])
  const result = await closing
  t.ok(result === 'stored' || result instanceof PlantOutcomeUnknown, 'the thread dies while the store is closing: the request is not retried')
  t.ok(plantsInFile(path).size >= 2)
})

t.test('the store recovers if the thread dies just after opening, and Node reports both events together', async t => {
  const store = storeAt(t, join(t.testdir(), 'plants.db'))
  const { threads, kill } = threadsOf(t)
  const opening = store.open()
  await once(process, 'worker')
  kill()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  t.equal(await opening, true)
  t.equal(await store.create(FICUS, soon()), 'stored')
  t.equal(threads.length, 2)
})

t.test('a store that failed to open can be opened later; a closed one cannot', async t => {
  const path = join(t.testdir(), 'plants.db')
  const other = openSqlite(path)
  other.exec('CREATE TABLE songs(title TEXT)')
  const store = storeAt(t, path)
  await t.rejects(store.open(), { name: StoreUnusable.name, message: /^SQLite: \S+plants\.db is an SQLite database of another program: choose another folder$/ })
  other.exec('DROP TABLE songs')
  other.close()
  t.equal(await store.open(), true)
  t.equal(await store.open(), false)
  t.equal(await store.create(FICUS, soon()), 'stored')
  await store.close()
  await t.rejects(store.open(), { name: 'StoreUnusable', message: 'the store was closed: make a new one' })
  await t.rejects(store.ready(), { message: 'the store is closed' })
})

t.test('a process that exits during a write keeps its exit code and loses no acknowledged plant', async t => {
  const store = pathToFileURL(join(compiledPackage, 'src/stores/sqlite/sqlite-plant-store.js')).href
  const folder = t.testdir()
  for (let turn = 0; turn < 2; turn++) {
    const path = join(folder, `${turn}.db`)
    const child = spawn('env', bare({}, [process.execPath, '--input-type=module', '-e', `
      const { sqlitePlantStore } = await import(${JSON.stringify(store)})
      const store = sqlitePlantStore({ path: ${JSON.stringify(path)} })
      await store.open()
      let id = 0n
      let stored = 0
      const client = async () => { for (;;) { await store.create({ id: ++id, name: 'x' }, performance.now() + 10_000); stored++ } }
      await store.create({ id: 0n, name: 'x' }, performance.now() + 10_000)
      for (let i = 0; i < 500; i++) client()
      while (stored === 0) await new Promise(resolve => setTimeout(resolve, 5))
      setTimeout(() => { process.stdout.write(String(stored)); process.exit(3) }, ${100 + 37 * turn})`]), { stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', text => { stdout += text })
    child.stderr.on('data', text => { stderr += text })
    const [code, signal] = await once(child, 'close')
    t.strictSame([code, signal, stderr], [3, null, ''])
    t.ok(Number(stdout) > 0 && plantsInFile(path).size >= Number(stdout), `${stdout} acknowledged`)
  }
})
