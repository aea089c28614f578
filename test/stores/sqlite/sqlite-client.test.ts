import { EventEmitter } from 'node:events'
import { cpSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { PlantNotStored, PlantOutcomeUnknown, StoreUnusable } from '../../../src/plant-store.js'
import { identityOf } from '../../../src/stores/sqlite/database.js'
import type { DatabaseThread } from '../../../src/stores/sqlite/database-thread.js'
import { SqliteClient } from '../../../src/stores/sqlite/sqlite-client.js'
import type { SqliteAnswer, SqliteRequest } from '../../../src/stores/sqlite/sqlite-worker.js'
import { compiledPackage } from '../../support/process/program.js'
import { VirtualClock } from '../../support/virtual-clock.js'

const DONE: SqliteAnswer = { kind: 'done', outcomes: null }
const UNUSABLE: SqliteAnswer = { kind: 'failed', message: 'not ours', outcomeUnknown: false, permanent: true, unusable: true, reopen: true }

/** The answer of a thread that exits because of a fault. */
function fault (options: { outcomeUnknown?: boolean } = {}): SqliteAnswer {
  return { kind: 'failed', message: 'a fault', outcomeUnknown: false, permanent: false, unusable: false, reopen: true, ...options }
}

/** A thread whose answers and exit are controlled by the test. */
class ScriptedThread extends EventEmitter implements DatabaseThread {
  readonly requests: SqliteRequest[] = []

  constructor (readonly openedFile: string | undefined) {
    super()
  }

  postMessage (request: SqliteRequest): void {
    this.requests.push(request)
  }

  answer (answer: SqliteAnswer): void {
    this.emit('message', answer)
  }

  exit (): void {
    this.emit('exit', 0)
  }
}

function scriptedClient (path = 'plants.db') {
  const clock = new VirtualClock()
  const threads: ScriptedThread[] = []
  const client = new SqliteClient(path, clock, (_path, openedFile) => {
    const thread = new ScriptedThread(openedFile)
    threads.push(thread)
    return thread
  })
  return {
    clock,
    client,
    threads,
    write: () => client.write([{ id: 1n, name: 'Ficus' }], clock.now() + 9_000, clock.now() + 3_000),
    /** The latest thread. */
    get thread () { return threads.at(-1) as ScriptedThread }
  }
}

t.test('the wait for a lock takes a quarter of a second at most, and ends half a second before the first deadline of a batch', async t => {
  for (const [timeLeft, lockWaitMs] of [[3_000, 250], [700, 200], [100, -400]] as const) {
    const { client, clock, threads } = scriptedClient()
    client.write([{ id: 1n, name: 'Ficus' }], clock.now() + 9_000, clock.now() + timeLeft)
    t.match(threads[0]?.requests, [{ kind: 'write', lockWaitMs }])
  }
})

t.test('after a fault, another thread is started for the next request', async t => {
  for (const answer of [fault(), UNUSABLE]) {
    const scripted = scriptedClient()
    const first = scripted.write()
    scripted.thread.answer(answer)
    scripted.thread.exit()
    await first
    const next = scripted.write()
    await scripted.clock.turns()
    t.equal(scripted.threads.length, 2)
    scripted.thread.answer(DONE)
    t.strictSame(await next, ['stored'])
  }
})

t.test('a request to a thread that is about to exit is sent to the next one, after the exit', async t => {
  const scripted = scriptedClient()
  const first = scripted.write()
  scripted.thread.answer(fault())
  await first
  const check = scripted.client.check(false)
  await scripted.clock.turns()
  t.equal(scripted.threads.length, 1)
  t.equal(scripted.thread.requests.length, 1)
  scripted.thread.exit()
  await scripted.clock.turns()
  t.strictSame(scripted.thread.requests, [{ kind: 'check', thoroughly: false }])
  scripted.thread.answer(DONE)
  await t.resolves(check)
})

t.test('a write that is queued after a failure that ends the thread is not stored', async t => {
  const scripted = scriptedClient()
  const writes = [scripted.write(), scripted.write()]
  scripted.thread.answer(fault({ outcomeUnknown: true }))
  scripted.thread.exit()
  t.match(await Promise.all(writes), [{ name: PlantOutcomeUnknown.name }, { name: PlantNotStored.name, message: 'SQLite: a fault', permanent: false }])
})

t.test('if a thread dies, the outcome of its writes is unknown, and another is started', async t => {
  const scripted = scriptedClient()
  const writes = [scripted.write(), scripted.write(), scripted.write()]
  scripted.thread.answer(DONE)
  scripted.thread.emit('error', new Error('out of memory'))
  scripted.thread.exit()
  const open = { name: PlantOutcomeUnknown.name, message: 'SQLite: the database thread exited: out of memory' }
  t.match(await Promise.all(writes), [['stored'], open, open])
  const next = scripted.write()
  await scripted.clock.turns()
  t.equal(scripted.threads.length, 2)
  scripted.thread.answer(DONE)
  t.strictSame(await next, ['stored'])
})

t.test('a thread whose code cannot be loaded, as in a bundle, makes the store unusable at once', async t => {
  const message = /^SQLite: the code of the database thread cannot be loaded \(.*\): if the app is bundled, mark plant-store as external$/
  const scripted = scriptedClient()
  const opened = scripted.client.open()
  scripted.thread.emit('error', new Error('Cannot find module'))
  scripted.thread.exit()
  await t.rejects(opened, { name: StoreUnusable.name, message })
  const inCommonJs = new SqliteClient('plants.db', new VirtualClock(), () => { throw new TypeError('Invalid URL') })
  await t.rejects(inCommonJs.open(), { name: StoreUnusable.name, message })
  t.match(await inCommonJs.write([{ id: 1n, name: 'Ficus' }], Infinity, Infinity), { name: PlantNotStored.name, permanent: true, message })

  const bundle = t.testdir({ node_modules: t.fixture('symlink', resolve('node_modules')), 'package.json': '{"type":"module"}' })
  cpSync(join(compiledPackage, 'src'), join(bundle, 'src'), { recursive: true, filter: path => !path.endsWith('sqlite-worker.js') })
  const { sqlitePlantStore } = await import(pathToFileURL(join(bundle, 'src/stores/sqlite/sqlite-plant-store.js')).href)
  await t.rejects(sqlitePlantStore({ path: join(bundle, 'plants.db') }).open(), { name: StoreUnusable.name, message })
})

t.test('if no thread can be started, nothing is stored, and the next request tries again', async t => {
  let starts = 0
  const client = new SqliteClient('plants.db', new VirtualClock(), () => {
    starts++
    throw new Error('EAGAIN')
  })
  const failure = { name: PlantNotStored.name, permanent: false, message: 'SQLite: no thread for the database could be started: EAGAIN' }
  for (let turn = 1; turn < 3; turn++) {
    t.match(await client.write([{ id: 1n, name: 'Ficus' }], Infinity, Infinity), failure)
    t.equal(starts, turn)
  }
})

t.test('a thread is told which file an earlier one had open', async t => {
  const path = join(t.testdir({ 'plants.db': '' }), 'plants.db')
  const scripted = scriptedClient(path)
  for (const answer of [undefined, DONE, fault()]) {
    const write = scripted.write()
    await scripted.clock.turns()
    if (answer !== undefined) scripted.thread.answer(answer)
    scripted.thread.exit()
    await write
  }
  t.strictSame(scripted.threads.map(({ openedFile }) => openedFile), [undefined, undefined, identityOf(path)])
})

t.test('close lets the thread complete earlier requests, and waits for its exit', async t => {
  const scripted = scriptedClient()
  const write = scripted.write()
  let isClosed = false
  scripted.client.close().then(() => { isClosed = true })
  await t.rejects(scripted.client.check(false), { message: 'SQLite: the store is closed' }, 'later ones are refused')
  t.match(scripted.thread.requests, [{ kind: 'write' }, { kind: 'close' }])
  scripted.thread.answer(DONE)
  t.strictSame(await write, ['stored'])
  await scripted.clock.turns()
  t.notOk(isClosed)
  scripted.thread.exit()
  await scripted.clock.turns()
  t.ok(isClosed)
})

t.test('after close, a check that waits for the exit of a thread does not start another', async t => {
  const scripted = scriptedClient()
  const first = scripted.client.check(false)
  scripted.thread.answer(UNUSABLE)
  await t.rejects(first, StoreUnusable)
  const second = scripted.client.check(false)
  const closed = scripted.client.close()
  scripted.thread.exit()
  await closed
  await t.rejects(second, { message: 'SQLite: the store is closed' })
  t.equal(scripted.threads.length, 1)
})
