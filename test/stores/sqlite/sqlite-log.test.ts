import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { sqlitePlantStore } from '../../../src/stores/sqlite/sqlite-plant-store.js'

t.test('soon after startup the write-ahead log has grown to its full size, without adding anything to the database', async t => {
  const path = join(t.testdir(), 'plants.db')
  const store = sqlitePlantStore({ path })
  await store.open?.()
  t.teardown(() => store.close?.())
  const create = (id: bigint) => store.create({ id, name: 'Monstera' }, performance.now() + 10_000)
  t.equal(await create(1n), 'stored')
  for (let i = 0; i < 100 && statSync(`${path}-wal`).size < 16_000_000; i++) await sleep(50)
  t.ok(statSync(`${path}-wal`).size >= 16_000_000)
  t.ok(statSync(path).size < 100_000)
  t.equal(await create(2n), 'stored')
  t.equal(await create(1n), 'same')
})
