import t from 'tap'
import { play, scenarios, scriptedStage } from './replica-set-scenarios.js'

// `npm run test:mongodb` plays the same scenarios on a real replica set.
t.jobs = 12

for (const scenario of scenarios) t.test(scenario.name, async t => { await play(t, await scriptedStage(t), scenario) })
