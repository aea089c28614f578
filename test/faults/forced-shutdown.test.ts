import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { create, startService } from '../support/process/program.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'

t.test('a shutdown with a pending request is forced after 25 s, even if STORE_TIMEOUT is longer', async t => {
  const mongo = await ScriptedMongo.start(t)
  const service = await startService(t, { MONGODB_URL: mongo.url, DATA_DIR: undefined, STORE_TIMEOUT: '120000' })
  t.equal((await create(service.address)).status, 200)
  mongo.hang()
  const pending = create(service.address).then(({ status }) => status, () => 'cut')
  await sleep(1_000)
  const began = performance.now()
  t.match(await service.end('SIGTERM'), { code: 1 })
  const seconds = (performance.now() - began) / 1_000
  t.ok(seconds >= 24.5 && seconds < 35, `after ${seconds.toFixed(1)} s`)
  t.match(await service.logged('forced exit after'), { level: 50, msg: 'forced exit after 25000 ms with requests pending' })
  t.equal(await pending, 'cut')
})
