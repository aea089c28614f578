import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { mongoPlantStore } from '../../src/stores/mongo-plant-store.js'
import { ScriptedMongo, type StoredPlant } from '../scripted-mongodb/scripted-mongo.js'
import { buildService, type Service } from '../service.js'
import { scenarios, type Scenario, type There } from './mongo-scenarios.js'

t.jobs = 12

for (const scenario of scenarios) {
  const { name, as = 'replica set', statuses } = scenario
  const told = statuses.length > 9 ? `${statuses.length} creates` : statuses.join(', ')
  t.test(`${name} (${as}): ${told}`, async t => { await play(t, scenario) })
}

/**
 * Plays a scenario, and checks what holds in every one: nothing that was acknowledged is lost, nothing refused is stored.
 * On a machine that is busy with other things a try may still be under way at the deadline, which makes a 504 of a 503: then
 * the scenario is played again, up to three times. What must never happen is no matter of time, and is not forgiven once.
 */
async function play (t: Test, scenario: Scenario, turn = 1): Promise<void> {
  const { as = 'replica set', statuses, there = [], again: resent = statuses.map(() => 200) } = scenario
  const { storeTimeout = statuses.some(status => status > 500) ? 1_500 : 6_000 } = scenario
  const mongo = await ScriptedMongo.start(t, { as })
  await put(mongo, there)
  const service = await buildService(t, mongoPlantStore({ url: mongo.url, storeTimeout }), { STORE_TIMEOUT: storeTimeout })
  if (!scenario.cold) await service.app.inject('/health/ready')
  const plants = statuses.map((_, i) => ({ id: i + 1, name: `plant ${i + 1}` }))

  await scenario.fault(mongo)
  const began = performance.now()
  const meanwhile = scenario.meanwhile?.(mongo)
  const answers = await createAll(service, plants)
  t.ok(performance.now() - began < Math.min(storeTimeout, 10_000) + 1_000, 'every answer came in time')
  const told = answers.map(({ status }) => status)
  const again = turn < 3 && told.some((status, i) => status !== statuses[i])
  if (!again) t.strictSame(told, statuses, 'what the clients are told')
  await meanwhile

  await scenario.afterwards?.(mongo)
  await recover(mongo, service)
  const acknowledged = plants.filter((_, i) => answers[i]?.status === 200)
  const refused = plants.filter((_, i) => answers[i]?.status === 503)
  t.strictSame(missing(acknowledged, mongo.majority()), [], 'what was acknowledged is there')
  t.strictSame(refused.filter(({ id }) => mongo.plants().has(BigInt(id))), [], 'what was refused is not')

  const second = await createAll(service, plants)
  if (!again) t.strictSame(second.map(({ status }) => status), resent, 'sent again')
  if (as === 'replica set') mongo.elect({ rollBack: true })
  t.strictSame(missing(plants.filter((_, i) => second[i]?.status === 200), mongo.majority()), [], 'and no failover takes it away')
  for (const { error } of [...answers, ...second]) if (error !== undefined) t.match(error, /^(40004|50301|50401)$/)
  if (again) {
    t.comment(`turn ${turn}: ${told.join()}`)
    await play(t, scenario, turn + 1)
  }
}

interface Answered {
  status: number
  /** The number in the Error shape; undefined where the plant is stored. */
  error: string | undefined
}

async function createAll (service: Service, plants: { id: number, name: string }[]): Promise<Answered[]> {
  return await Promise.all(plants.map(async plant => {
    const response = await service.create(plant)
    const body = response.json()
    const status = response.statusCode
    const wellFormed = status === 200
      ? body.name === plant.name
      : body.error >= status * 100 && body.error < (status + 1) * 100 && body.message.length > 20 && (status !== 503 || response.headers['retry-after'] === '1')
    return { status: wellFormed ? status : -status, error: status === 200 ? undefined : String(body.error) }
  }))
}

/** Those plants that are not there with their exact content. */
function missing (plants: { id: number, name: string }[], stored: Map<bigint, StoredPlant>): unknown[] {
  return plants.filter(({ id, name }) => stored.get(BigInt(id))?.name !== name)
}

/** MongoDB is well again, and has done what it still had to do. */
async function recover (mongo: ScriptedMongo, service: Service): Promise<void> {
  mongo.clearCues()
  mongo.delayAnswers(0)
  mongo.resumeReplication()
  await mongo.start()
  mongo.resume()
  await sleep(50)
  while (await service.health.fault() !== undefined) await sleep(50)
}

/** Puts plants there, by a program of its own. */
async function put (mongo: ScriptedMongo, there: There[]): Promise<void> {
  if (there.length === 0) return
  const client = new MongoClient(mongo.url)
  if (there.some(({ local }) => local)) mongo.pauseReplication()
  await client.db('plant_store').collection<{ _id: bigint, name: string }>('plants')
    .insertMany(there.map(({ id, name }) => ({ _id: BigInt(id), name })), { writeConcern: { w: 1 } })
  await client.close()
}

t.test('a failover of 5 s under the load of 64 connections: no client sees it', async t => {
  const storeTimeout = 10_000
  const mongo = await ScriptedMongo.start(t, { record: false })
  const service = await buildService(t, mongoPlantStore({ url: mongo.url, storeTimeout }), { STORE_TIMEOUT: storeTimeout })
  const statuses = new Map<number, number>()
  const acknowledged: { id: number, name: string }[] = []
  const end = performance.now() + 7_500
  let last = 0
  const clients = Array.from({ length: 64 }, async () => {
    while (performance.now() < end) {
      const id = ++last
      const { statusCode } = await service.create({ id, name: `plant ${id}` })
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
      if (statusCode === 200) acknowledged.push({ id, name: `plant ${id}` })
    }
  })
  await sleep(1_000)
  await mongo.stepDown({ electAfter: 5_000, rollBack: true, closeConnections: true })
  await Promise.all(clients)

  t.strictSame([...statuses.keys()], [200], 'every answer is 200')
  t.ok(acknowledged.length > 500, `${acknowledged.length} creates`)
  t.strictSame(missing(acknowledged, mongo.majority()), [])
  t.comment(`${acknowledged.length} creates, ${[...statuses].join(' ')}`)
})
