import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable, type PlantStore } from '../../../src/stores/plant-store.js'
import { sqlitePlantStore } from '../../../src/stores/sqlite/sqlite-plant-store.js'
import { GuardedWorker } from '../../../src/stores/sqlite/thread/guarded-worker.js'
import { packPlants } from '../../../src/stores/sqlite/thread/thread-messages.js'
import { lockSqlite, openSqlite, plantsInFile } from '../../support/stores/sqlite-file.js'

const soon = (ms = 10_000) => performance.now() + ms
const FICUS = { id: 1n, name: 'Ficus' }

function storeAt (t: Test, path: string): Required<PlantStore> {
  const store = sqlitePlantStore({ path }) as Required<PlantStore>
  t.teardown(() => store.close())
  return store
}

/** The threads started during a test. */
function threadsOf (t: Test): Worker[] {
  const threads: Worker[] = []
  const note = (worker: Worker) => { threads.push(worker) }
  process.on('worker', note)
  t.teardown(() => { process.off('worker', note) })
  return threads
}

t.test('a store without a path is refused', async t => {
  for (const path of [undefined, '', 12, null]) {
    t.throws(() => sqlitePlantStore({ path: path as string }), new TypeError('sqlitePlantStore: the option path must be the path of the database file'))
  }
})

t.test('while another program writes, a request stays pending until its deadline, and is then not stored', async t => {
  const path = join(t.testdir(), 'plants.db')
  const store = storeAt(t, path)
  const threads = threadsOf(t)
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

t.test('a write that waits for a lock does not delay a check until its deadline', async t => {
  const path = join(t.testdir(), 'plants.db')
  const store = storeAt(t, path)
  await store.open()
  const other = lockSqlite(path)
  const create = store.create(FICUS, soon(20_000))
  await new Promise(resolve => setTimeout(resolve, 20))
  const began = performance.now()
  await t.rejects(store.ready(), { message: /locked/ })
  t.ok(performance.now() - began < 10_000)
  other.exec('ROLLBACK')
  other.close()
  t.equal(await create, 'stored')
})

t.test('a write past its deadline does not wait for a lock', async t => {
  const path = join(t.testdir(), 'plants.db')
  const thread = new GuardedWorker(path, false)
  thread.postMessage({ kind: 'check', thoroughly: false })
  await once(thread, 'message')
  const other = lockSqlite(path)
  const began = performance.now()
  for (let request = 0; request < 40; request++) {
    thread.postMessage({ kind: 'write', plants: packPlants([{ id: 1n, name: 'Ficus' }]), until: 0 })
    t.match(await once(thread, 'message'), [{ kind: 'failed', message: /locked/, ends: false }])
  }
  // Each might wait for 250 ms.
  t.ok(performance.now() - began < 5_000)
  other.close()
  thread.postMessage({ kind: 'close' })
  await once(thread, 'exit')
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
  const folder = t.testdir()
  const listeners = process.listenerCount('exit')
  const stores = ['one.db', 'other.db'].map(name => storeAt(t, join(folder, name)))
  const threads = threadsOf(t)
  await stores[0]?.open()
  await stores[1]?.open()
  const exits = threads.map(thread => once(thread, 'exit'))
  t.equal(process.listenerCount('exit'), listeners + 1)
  await stores[0]?.close()
  t.equal(process.listenerCount('exit'), listeners + 1)
  await stores[1]?.close()
  t.strictSame(await Promise.all(exits), [[0], [0]])
  t.equal(process.listenerCount('exit'), listeners)
})

t.test('the store recovers if its thread dies', async t => {
  const path = join(t.testdir(), 'plants.db')
  const store = storeAt(t, path)
  const threads = threadsOf(t)
  await store.open()
  t.equal(threads.length, 1)

  await threads[0]?.terminate()
  t.equal(await store.create(FICUS, soon()), 'stored', 'the thread died before the request')
  t.equal(threads.length, 2)

  const inFlight = store.create({ id: 2n, name: 'Fern' }, soon())
  await new Promise(resolve => setImmediate(resolve))
  await threads[1]?.terminate()
  t.match(await inFlight, /^(stored|same)$/, 'the thread died during the request: the next one settles it')

  // The thread may have responded before it was terminated; then there is none until the next create.
  t.equal(await store.create(FICUS, soon()), 'same')
  const last = threads.at(-1) as Worker
  const exit = once(last, 'exit')
  const closing = store.create({ id: 3n, name: 'Moss' }, soon())
  closing.catch(() => {})
  await new Promise(resolve => setImmediate(resolve))
  last.terminate()
  await store.close()
  await exit
  const result = await closing.catch((error: unknown) => error)
  t.ok(result === 'stored' || result instanceof PlantOutcomeUnknown, 'the thread died while the store was closing: the request is not retried')
  t.ok(plantsInFile(path).size >= 2)
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

t.test('the store recovers if the thread dies while opening', async t => {
  const store = storeAt(t, join(t.testdir(), 'plants.db'))
  process.once('worker', (worker: Worker) => { worker.terminate() })
  t.equal(await store.open(), true)
  t.equal(await store.create(FICUS, soon()), 'stored')
})

t.test('the store recovers if the thread dies just after opening, and Node reports both events together', async t => {
  const path = join(t.testdir(), 'plants.db')
  const store = storeAt(t, path)
  const started = once(process, 'worker') as Promise<[Worker]>
  const opening = store.open()
  const [worker] = await started
  const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  for (const began = Date.now(); !existsSync(`${path}-wal`) && Date.now() < began + 10_000;) block(10)
  block(200)
  worker.terminate()
  block(300)
  t.equal(await opening, true)
  t.equal(await store.create(FICUS, soon()), 'stored')
  await store.close()
  t.match(plantsInFile(path), new Map([[1n, { name: 'Ficus' }]]))
})

t.test('a store opens while another program has the file locked, and requests wait for the lock', async t => {
  const path = join(t.testdir(), 'plants.db')
  const other = openSqlite(path)
  other.exec('BEGIN EXCLUSIVE')
  const store = storeAt(t, path)
  t.equal(await store.open(), true)
  await t.rejects(store.ready(), { message: /^SQLite: .*locked/ })
  const create = store.create(FICUS, soon())
  other.exec('ROLLBACK')
  other.close()
  t.equal(await create, 'stored')
  await t.resolves(store.ready())
})
