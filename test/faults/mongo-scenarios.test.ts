import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { mongoPlantStore } from '../../src/stores/mongo/mongo-plant-store.js'
import type { PlantStore } from '../../src/plant-store.js'
import { byInject, lost, PlantClients } from '../support/http/plant-clients.js'
import { buildService, type Service } from '../support/http/service.js'
import { ScriptedMongo, type StoredPlant } from '../support/scripted-mongodb/scripted-mongo.js'
import { scenarios, type ExistingPlant, type Scenario } from './mongo-scenarios.js'

t.jobs = 4

for (const scenario of scenarios) {
  const { name, as = 'replica set', statuses } = scenario
  const expected = statuses.length > 9 ? `${statuses.length} create requests` : statuses.join(', ')
  t.test(`${name} (${as}): ${expected}`, async t => { await play(t, scenario) })
}

/**
 * Plays a scenario, and checks what applies to all of them: no acknowledged plant is lost, and no refused plant is
 * stored.
 */
async function play (t: Test, scenario: Scenario): Promise<void> {
  const { as = 'replica set', statuses, existing = [], again: resent = statuses.map(() => 200) } = scenario
  const { shutsDown = false } = scenario
  const { storeTimeout = statuses.some(status => status > 500) && !shutsDown ? 1_500 : 15_000 } = scenario
  const mongo = await ScriptedMongo.start(t, { as })
  await insertExisting(mongo, existing)
  const store = mongoPlantStore({ url: mongo.url, storeTimeout })
  const serve = (store: PlantStore) => buildService(t, store, { STORE_TIMEOUT: storeTimeout })
  let service = await serve(store)
  if (!scenario.cold) await service.app.inject('/health/ready')
  const plants = statuses.map((_, i) => ({ id: i + 1, name: `plant ${i + 1}` }))

  await scenario.fault(mongo)
  const began = performance.now()
  const during = shutsDown ? sleep(200).then(() => store.close?.()) : scenario.during?.(mongo)
  const answers = await createAll(t, service, plants)
  t.ok(performance.now() - began < Math.min(storeTimeout, 10_000) + 3_000, 'every response was in time')
  t.strictSame(answers, statuses, 'the responses')
  await during

  if (shutsDown) service = await serve(mongoPlantStore({ url: mongo.url, storeTimeout }))
  await scenario.afterwards?.(mongo)
  await recover(mongo, service)
  const acknowledged = plants.filter((_, i) => answers[i] === 200)
  const refused = plants.filter((_, i) => answers[i] === 503)
  t.strictSame(missing(acknowledged, mongo.majority()), [], 'every acknowledged plant is stored')
  t.strictSame(refused.filter(({ id }) => mongo.plants().has(BigInt(id))), [], 'no refused plant is stored')

  const second = await createAll(t, service, plants)
  t.strictSame(second, resent, 'the responses to the retries')
  if (as === 'replica set') mongo.elect({ rollBack: true })
  t.strictSame(missing(plants.filter((_, i) => second[i] === 200), mongo.majority()), [], 'and no failover removes it')
}

/** The statuses of the responses, each of which is checked. */
async function createAll (t: Test, service: Service, plants: { id: number, name: string }[]): Promise<number[]> {
  return await Promise.all(plants.map(async plant => {
    const { statusCode, headers, body } = await service.create(plant)
    const { name, error, message } = JSON.parse(body)
    if (statusCode === 200) t.equal(name, plant.name)
    else t.match(`${error} ${message}`, /^(40004|50301|50401) .{20}/)
    if (statusCode === 503) t.equal(headers['retry-after'], '1')
    return statusCode
  }))
}

/** The plants that are not stored with their exact content. */
function missing (plants: { id: number, name: string }[], stored: Map<bigint, StoredPlant>): unknown[] {
  return plants.filter(({ id, name }) => stored.get(BigInt(id))?.name !== name)
}

/** Ends all faults, and waits until MongoDB has executed the delayed commands. */
async function recover (mongo: ScriptedMongo, service: Service): Promise<void> {
  mongo.clearCues()
  mongo.resumeReplication()
  await mongo.start()
  mongo.resume()
  await sleep(50)
  while (await service.health.fault() !== undefined) await sleep(50)
}

/** Inserts plants as another program would. */
async function insertExisting (mongo: ScriptedMongo, existing: ExistingPlant[]): Promise<void> {
  if (existing.length === 0) return
  const client = new MongoClient(mongo.url)
  if (existing.some(({ local }) => local)) mongo.pauseReplication()
  await client.db('plant_store').collection<{ _id: bigint, name: string }>('plants')
    .insertMany(existing.map(({ id, name }) => ({ _id: BigInt(id), name })), { writeConcern: { w: 1 } })
  await client.close()
}

t.test('a failover of 5 s under the load of 64 connections goes unnoticed by the clients', async t => {
  const storeTimeout = 10_000
  const mongo = await ScriptedMongo.start(t)
  const service = await buildService(t, mongoPlantStore({ url: mongo.url, storeTimeout }), {
    STORE_TIMEOUT: storeTimeout
  })
  const clients = new PlantClients(byInject(service))
  const load = clients.load({ connections: 64, ms: 7_500 })
  await sleep(1_000)
  await mongo.stepDown({ electAfter: 5_000, rollBack: true, closeConnections: true })
  await load

  t.strictSame(Object.keys(clients.counts), ['200'], 'every response is 200')
  t.ok(clients.acknowledged.length > 500, `${clients.acknowledged.length} plants`)
  t.strictSame(lost(clients.sent, mongo.majority()), [])
})
