import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { lost, overHttp, PlantClients, refusedAndStored } from '../support/http/plant-clients.js'
import { launch, testFolder, token } from '../support/process/program.js'
import { mongodb } from '../support/stores/mongodb-for-tests.js'
import { mongoPlace, scriptedPlace, type Place } from '../support/stores/places.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'

t.jobs = 3

/** Starts the service on the same data repeatedly, and kills it at a random time under full load. */
async function killUnderLoad (t: Test, kills: number, env: NodeJS.ProcessEnv, stored: Place['stored']): Promise<void> {
  let nextId = 1
  let acknowledged = 0
  for (let killed = 0; killed < kills; killed++) {
    const service = launch(t, { ACCESS_TOKENS: token, ...env })
    const clients = new PlantClients(overHttp(await service.ready(), token), nextId)
    const load = clients.load({ untilCut: true, ms: 30_000 })
    await sleep(50 + Math.random() * 450)
    await service.end('SIGKILL')
    await load
    const plants = await stored()
    t.strictSame(lost(clients.sent, plants), [], `0 of ${clients.acknowledged.length} acknowledged plants are lost`)
    t.strictSame(refusedAndStored(clients.sent, plants), [], 'no refused plant is stored')
    nextId += clients.sent.length
    acknowledged += clients.acknowledged.length
  }
  t.ok(acknowledged > 0)
}

t.test('SIGKILL under load, on SQLite: no acknowledged plant is lost', async t => {
  const folder = testFolder(t)
  await killUnderLoad(t, 5, { DATA_DIR: folder }, async () => plantsInFile(join(folder, 'plants.db')))
})

t.test('SIGKILL under load, on MongoDB: no acknowledged plant is lost', async t => {
  const { missing } = await mongodb()
  const { url, stored } = await (missing === undefined ? mongoPlace(t) : scriptedPlace(t))
  await killUnderLoad(t, 3, { MONGODB_URL: url }, stored)
})
