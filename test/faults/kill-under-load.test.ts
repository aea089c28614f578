import t from 'tap'
import { killUnderLoad, mongodb, sqliteFolder } from './kill-under-load.js'

t.jobs = 3

for (const WORKERS of ['1', '3']) {
  t.test(`SIGKILL under load, on SQLite with WORKERS=${WORKERS}: no acknowledged plant is lost`, async t => {
    const place = sqliteFolder()
    t.teardown(place.close)
    Object.assign(place.env, { WORKERS })
    const toll = await killUnderLoad(place, { signal: 'SIGKILL', kills: 5, connections: 16 })
    t.match(toll, { kills: 5, lost: 0, refusedAndStored: 0 }, JSON.stringify(toll))
    t.ok(toll.acknowledged > 0)
  })
}

t.test('SIGKILL under load, on MongoDB: no acknowledged plant is lost', async t => {
  const place = await mongodb()
  t.teardown(place.close)
  const toll = await killUnderLoad(place, { signal: 'SIGKILL', kills: 3, connections: 16 })
  t.match(toll, { kills: 3, lost: 0, refusedAndStored: 0 }, JSON.stringify(toll))
  t.ok(toll.acknowledged > 0)
})

for (const WORKERS of ['1', '3']) {
  t.test(`SIGTERM under load, with WORKERS=${WORKERS}: each request gets its response, and the service exits within 10 s`, async t => {
    const place = sqliteFolder()
    t.teardown(place.close)
    Object.assign(place.env, { WORKERS })
    const toll = await killUnderLoad(place, { signal: 'SIGTERM', kills: 2, connections: 16 })
    t.match(toll, { kills: 2, lost: 0, cut: 0, otherStatuses: 0, badShutdowns: 0 }, JSON.stringify(toll))
  })
}
