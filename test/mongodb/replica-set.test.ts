import t from 'tap'
import { play, realScenarios, realStage, scenarios } from '../faults/mongo-scenarios.js'
import { needs } from '../support/process/needs.js'
import { programOnPath, ReplicaSet } from '../support/stores/replica-set.js'

t.setTimeout(900_000)

const mongod = programOnPath('mongod')
const missing = mongod === undefined ? 'no mongod on the PATH' : undefined
t.test('on a real replica set', { ...needs(missing), timeout: 900_000 }, async t => {
  const set = await ReplicaSet.start(t, mongod as string)
  for (const scenario of [...scenarios, ...realScenarios]) {
    await t.test(scenario.name, async t => {
      await play(t, await realStage(t, set), scenario)
    })
  }
})
