import t from 'tap'
import { play, scenarios, scriptedStage } from './replica-set-scenarios.js'

// `npm run test:mongodb` plays the same scenarios, and those that need several members, on a real replica set.
t.jobs = 12

for (const scenario of scenarios.filter(({ real }) => real !== true)) {
  t.test(scenario.name, async t => { await play(t, await scriptedStage(t), scenario) })
}
