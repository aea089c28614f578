import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../../src/clock.js'
import { PlantNotStored, PlantOutcomeUnknown } from '../../../src/stores/plant-store.js'
import { SqliteClient } from '../../../src/stores/sqlite/sqlite-client.js'
import type { SqliteRequest } from '../../../src/stores/sqlite/sqlite-worker.js'

const FICUS = { id: 1n, name: 'Ficus' }

/** A thread that does with each request what the test says. */
class FakeThread extends EventEmitter {
  constructor (private readonly serve: (request: SqliteRequest, thread: FakeThread) => void) { super() }

  postMessage (request: SqliteRequest): void {
    setImmediate(() => this.serve(request, this))
  }
}

t.test('with the shortest timeout, a create waits for a lock that another program holds for a moment', async t => {
  const lockWaits: number[] = []
  const thread = new FakeThread((request, thread) => {
    if (request.kind === 'write') lockWaits.push(request.lockWaitMs)
    thread.emit('message', 'all stored')
  })
  const client = new SqliteClient('plants.db', { ...systemClock, now: () => 0 }, () => thread)
  for (const deadline of [10_000, 500, 300]) await client.write([FICUS], deadline, deadline)
  t.strictSame(lockWaits, [250, 150, -50])
})

t.test('a thread that dies in its first write leaves the outcome open; one that dies before it has loaded has stored nothing', async t => {
  const dying = (...messages: string[]) => new FakeThread((_request, thread) => {
    for (const message of messages) thread.emit('message', message)
    thread.emit('error', new Error('out of memory'))
    thread.emit('exit', 1)
  })
  const write = (client: SqliteClient) => client.write([FICUS], 10_000, 10_000)
  const first = new SqliteClient('plants.db', systemClock, () => dying('loaded'))
  t.match(await write(first), { name: PlantOutcomeUnknown.name, message: 'SQLite: the database thread exited: out of memory' })

  const path = join(t.testdir({ 'plants.db': '' }), 'plants.db')
  const threads = [dying('loaded', 'all stored'), dying()]
  const later = new SqliteClient(path, systemClock, () => threads.shift() as FakeThread)
  t.strictSame(await write(later), ['stored'])
  t.match(await write(later), { name: PlantNotStored.name, permanent: false, message: /out of memory/ })
})
