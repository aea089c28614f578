import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { RawConnection } from '../support/http/raw-connection.js'
import { create, startService, token } from '../support/process/program.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'

t.jobs = 2

t.test('a body that stalls gets 408, 40801, after 20 s', async t => {
  const service = await startService(t)
  const connection = await RawConnection.open(t, Number(new URL(service.address).port))
  const began = performance.now()
  connection.write('POST /plants HTTP/1.1', 'Host: a', `Authorization: Bearer ${token}`, 'Content-Type: application/json', 'Content-Length: 20', '', '{"id":1,')
  t.match(await connection.answer(), { status: 408, headers: { connection: 'close' }, body: /^{"error":40801,/ })
  const seconds = (performance.now() - began) / 1_000
  t.ok(seconds >= 19 && seconds < 30, `after ${seconds.toFixed(1)} s`)
  await connection.closed()
})

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
