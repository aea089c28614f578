import { EventEmitter } from 'node:events'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable } from '../../../src/stores/store.js'
import { SqliteClient } from '../../../src/stores/sqlite/sqlite-client.js'
import type { SqliteRequest } from '../../../src/stores/sqlite/sqlite-worker.js'
import { sqlitePlace, storeContract } from '../../support/stores/places.js'
import { execute, openSqlite, plantsInFile, storeAt } from '../../support/stores/sqlite-file.js'
import { threadsOf } from './tables-and-threads.js'

const soon = (ms = 10_000) => performance.now() + ms
const FICUS = { id: 1n, name: 'Ficus' }

t.test('the SQLite store fulfills the PlantStore contract', { jobs: 2 }, async t => storeContract(t, sqlitePlace))

t.test('while the table is gone, or a trigger needs another one, the store is not ready', async t => {
  const path = join(t.testdir(), 'plants.db')
  const store = storeAt(t, path)
  await store.open()
  execute(path, 'CREATE TRIGGER broken BEFORE INSERT ON plants BEGIN INSERT INTO nowhere VALUES (1); END')
  await t.rejects(store.create(FICUS, soon()), { name: PlantNotStored.name, permanent: true })
  await t.rejects(store.ready(), { message: /^SQLite: no such table: main.nowhere$/ })
  execute(path, 'DROP TRIGGER broken')
  t.equal(await store.create(FICUS, soon()), 'stored')
  await t.resolves(store.ready())
  execute(path, 'ALTER TABLE plants RENAME TO old')
  await t.rejects(store.ready(), { message: /^SQLite: no such table: plants$/ })
})

t.test('a store opens while its file is locked; a request waits until its deadline, then is not stored', async t => {
  const path = join(t.testdir(), 'plants.db')
  const { threads } = threadsOf(t)
  const other = openSqlite(path)
  other.exec('BEGIN EXCLUSIVE')
  const store = storeAt(t, path)
  t.equal(await store.open(), true)
  const locked = /^SQLite: .*locked/
  await t.rejects(store.create(FICUS, soon(1_000)), { name: PlantNotStored.name, message: locked })
  const pending = store.create(FICUS, soon(20_000))
  const began = performance.now()
  await t.rejects(store.ready(), { message: locked })
  t.ok(performance.now() - began < 10_000, 'requests do not delay a check until their deadline')
  other.exec('ROLLBACK')
  t.equal(await pending, 'stored')
  await t.resolves(store.ready())

  const opened = threads.length
  other.exec('BEGIN IMMEDIATE')
  await t.rejects(store.ready(), { message: locked })
  other.close()
  t.equal(await store.create(FICUS, soon()), 'same')
  t.equal(threads.length, opened, 'the file stays open')
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

t.test('with the shortest timeout, 500 ms, at least 90 % of the creates of 32 connections are stored', async t => {
  const store = storeAt(t, join(t.testdir(), 'plants.db'))
  await store.open()
  let id = 0n
  let stored = 0
  const client = async () => {
    for (let turn = 0; turn < 10; turn++) {
      if (await store.create({ id: ++id, name: 'Ficus' }, soon(500)).catch(() => 'not stored') === 'stored') stored++
    }
  }
  await Promise.all(Array.from({ length: 32 }, client))
  t.ok(stored >= 288, `${stored} of 320`)
})

t.test('with the shortest timeout, a create survives a short lock, and learns of a long one in time', async t => {
  const path = join(t.testdir(), 'plants.db')
  const store = storeAt(t, path)
  await store.open()
  const other = openSqlite(path)
  other.exec('BEGIN IMMEDIATE')
  setTimeout(() => other.exec('ROLLBACK'), 200)
  t.equal(await store.create(FICUS, soon(500)), 'stored')

  other.exec('BEGIN IMMEDIATE')
  for (let turn = 0; turn < 3; turn++) {
    const deadline = soon(500)
    const create = store.create({ id: 2n, name: 'Fern' }, deadline)
    await t.rejects(create, { name: PlantNotStored.name, permanent: false, message: /locked/ })
    t.ok(performance.now() < deadline, 'before its deadline')
  }
  other.close()
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
  // The thread dies after the request: its answer counts, or the next attempt settles it.
  t.match(await inFlight, /^(stored|same)$/)

  t.equal(await store.create(FICUS, soon()), 'same')
  kill()
  const closing = store.create({ id: 3n, name: 'Moss' }, soon()).catch((error: unknown) => error)
  await Promise.all([store.close(), sleep(1)])
  const result = await closing
  // The thread dies while the store is closing: the request is not retried.
  t.ok(result === 'stored' || result instanceof PlantOutcomeUnknown)
  t.ok(plantsInFile(path).size >= 2)
})

t.test('a store that failed to open can be opened later; a closed one cannot', async t => {
  const path = join(t.testdir(), 'plants.db')
  const other = openSqlite(path)
  other.exec('CREATE TABLE songs(title TEXT)')
  const store = storeAt(t, path)
  await t.rejects(store.open(), {
    name: StoreUnusable.name,
    message: /^SQLite: \S+plants\.db is an SQLite database of another program: choose another path$/
  })
  other.exec('DROP TABLE songs')
  other.close()
  t.equal(await store.open(), true)
  t.equal(await store.open(), false)
  t.equal(await store.create(FICUS, soon()), 'stored')
  await store.close()
  await t.rejects(store.open(), { name: 'StoreUnusable', message: 'the store was closed: make a new one' })
  await t.rejects(store.ready(), { message: 'the store is closed' })
})

t.test('a thread whose code cannot be loaded, as in a bundle, makes the store unusable at once', async t => {
  const message = /^SQLite: no thread for the database could be started: .*if the app is bundled, mark plant-store/
  for (const address of [import.meta.url, undefined]) {
    // As the store starts its thread: an error that goes through a loader of tap's has lost its code.
    const startThread = () => new Worker(new URL('./missing.js', address), { execArgv: [] })
    const client = new SqliteClient('plants.db', startThread)
    await t.rejects(client.open(), { name: StoreUnusable.name, message })
  }
})

/** A thread that has opened its file, and does with each request what the test says. */
class FakeThread extends EventEmitter {
  constructor (private readonly serve: (request: SqliteRequest, thread: FakeThread) => void, opens = true) {
    super()
    if (opens) setImmediate(() => this.emit('message', { openedFile: 'a file' }))
  }

  postMessage (request: SqliteRequest): void {
    setImmediate(() => this.serve(request, this))
  }

  ref (): void {}

  unref (): void {}
}

t.test('a write and a check that are asked at once each get their own answer', async t => {
  const refusal = { kind: 'refused', message: 'no' } as const
  const thread = () => new FakeThread((request, thread) => {
    thread.emit('message', 'check' in (request as object) ? 'writable' : [refusal])
  })
  const client = new SqliteClient('plants.db', thread)
  const results = await Promise.all([client.check(true), client.write([FICUS]), client.check(false)])
  t.match(results, [undefined, [{ name: 'PlantNotStored', message: 'SQLite: no', permanent: true }], undefined])
  const confused = () => new FakeThread((_request, thread) => { thread.emit('message', 'writable') })
  const write = new SqliteClient('plants.db', confused).write([FICUS])
  await t.rejects(write, { name: 'TypeError' }, 'what a check is told says nothing about a plant')
})

t.test('a plant behind a check after which the thread exits is not stored, whatever the check says', async t => {
  for (const kind of ['busy', 'unknown'] as const) {
    const thread = () => new FakeThread((request, thread) => {
      if (Array.isArray(request)) return
      thread.emit('message', { kind, message: 'closed', closes: true })
      thread.emit('exit')
    })
    const client = new SqliteClient('plants.db', thread)
    const check = client.check(true)
    const write = client.write([FICUS])
    await t.rejects(check, { message: 'SQLite: closed' })
    t.match(await write, { name: 'PlantNotStored', message: 'SQLite: closed', permanent: false }, kind)
  }
})

t.test('a thread that dies in its first write leaves the outcome open, before it has opened the file not', async t => {
  const dying = (opens: boolean) => () => new FakeThread((_request, thread) => {
    thread.emit('error', new Error('out of memory'))
    thread.emit('exit', 1)
  }, opens)
  const first = new SqliteClient('plants.db', dying(true)).write([FICUS])
  t.match(await first, { name: PlantOutcomeUnknown.name, message: 'SQLite: the database thread exited: out of memory' })
  const never = new SqliteClient('plants.db', dying(false))
  t.match(await never.write([FICUS]), { name: PlantNotStored.name, permanent: true })
  await t.rejects(never.open(), { name: StoreUnusable.name, message: /could be started: out of memory$/ })
})
