import t from 'tap'
import { play, realStage, scenarios } from '../faults/replica-set-scenarios.js'
import { mongodOnPath, ReplicaSet } from '../support/stores/replica-set.js'

t.setTimeout(900_000)

const mongod = mongodOnPath()
const missing = 'no mongod on the PATH: the scripted MongoDB is not compared with a real one'
t.test('on a real replica set', { skip: mongod === undefined && process.env.REQUIRE_MONGOD !== '1' && missing, timeout: 900_000 }, async t => {
  if (mongod === undefined) throw new Error(`REQUIRE_MONGOD is 1, and there is ${missing}`)
  const set = await ReplicaSet.start(t, mongod)
  for (const scenario of scenarios) {
    await t.test(scenario.name, async t => {
      await play(t, await realStage(t, set), scenario)
    })
  }
})
