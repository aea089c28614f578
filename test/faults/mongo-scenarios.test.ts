import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { mongoPlantStore } from '../../src/stores/mongo/mongo-plant-store.js'
import { byInject, lost, PlantClients } from '../support/http/plant-clients.js'
import { buildService } from '../support/http/service.js'
import { create, startService } from '../support/process/program.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { play, scenarios, scriptedScenarios, scriptedStage } from './mongo-scenarios.js'

// `npm run test:mongodb` plays the first of them, and those that need several members, on a real replica set.
t.jobs = 12

for (const scenario of [...scenarios, ...scriptedScenarios]) {
  t.test(scenario.name, async t => { await play(t, await scriptedStage(t), scenario) })
}

t.test('a failover of 5 s under the load of 64 connections goes unnoticed by the clients', async t => {
  const mongo = await ScriptedMongo.start(t)
  const service = await buildService(t, mongoPlantStore({ url: mongo.url }))
  const clients = new PlantClients(byInject(service))
  const load = clients.load({ connections: 64, ms: 9_000 })
  await sleep(1_000)
  await mongo.stepDown({ electAfter: 5_000, closeConnections: true })
  await load
  t.strictSame(Object.keys(clients.counts), ['200'], 'every response is 200')
  t.ok(clients.acknowledged.length > 500, `${clients.acknowledged.length} plants`)
  t.strictSame(lost(clients.sent, mongo.majority()), [])
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
  t.match(await service.logged('forced exit after'), { level: 50, msg: 'forced exit after 25000 ms' })
  t.equal(await pending, 'cut')
})
